// What a user of franz-go's registry client does with a registry: every method and parameter of it.
// checks URL [NAME...]   prints "ok - name" or "not ok - name: reason" for each check.

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/sr"
)

const (
	v1    = `{"type":"record","name":"Order","fields":[{"name":"id","type":"long"}]}`
	v2    = `{"type":"record","name":"Order","fields":[{"name":"id","type":"long"},{"name":"note","type":"string","default":""}]}`
	wrong = `{"type":"record","name":"Order","fields":[{"name":"id","type":"string"}]}`
)

var (
	ctx, cancel = context.WithTimeout(context.Background(), 4*time.Minute)
	client      *sr.Client
	count       int
)

// failure ends a check.
type failure string

func must(err error) {
	if err != nil {
		panic(failure(err.Error()))
	}
}

func equal(got, want any) {
	if !reflect.DeepEqual(got, want) {
		panic(failure(fmt.Sprintf("expected %v, got %v", want, got)))
	}
}

func refused(err error, want *sr.Error, status int) {
	var response *sr.ResponseError
	if !errors.As(err, &response) {
		panic(failure(fmt.Sprintf("expected %v, got %v", want, err)))
	}
	equal(response.StatusCode, status)
	equal(response.SchemaError(), want)
}

func value[T any](got T, err error) T {
	must(err)
	return got
}

func name(what string) string {
	count++
	return fmt.Sprintf("sr-%d-%s", count, what)
}

func avro(text string) sr.Schema { return sr.Schema{Schema: text} }

func create(subject, text string) sr.SubjectSchema {
	return value(client.CreateSchema(ctx, subject, avro(text)))
}

func with(params ...sr.Param) context.Context { return sr.WithParams(ctx, params...) }

var checks = []struct {
	name string
	run  func()
}{
	{"SupportedTypes", func() {
		got := value(client.SupportedTypes(ctx))
		slices.Sort(got)
		equal(got, []sr.SchemaType{sr.TypeAvro, sr.TypeProtobuf, sr.TypeJSON})
	}},
	{"CreateSchema answers with the whole version", func() {
		subject := name("created")
		got := create(subject, v1)
		equal(got.Subject, subject)
		equal(got.Version, 1)
		equal(got.Schema, avro(v1))
		equal(create(subject, v1), got)
		equal(create(name("other"), v1).ID, got.ID)
	}},
	{"CreateSchema refuses an incompatible schema", func() {
		subject := name("incompatible")
		create(subject, v1)
		_, err := client.CreateSchema(ctx, subject, avro(wrong))
		refused(err, sr.ErrIncompatibleSchema, 409)
	}},
	{"CreateSchema refuses text that is not a schema", func() {
		_, err := client.CreateSchema(ctx, name("invalid"), avro(`{"type":"nothing"}`))
		refused(err, sr.ErrInvalidSchema, 422)
	}},
	{"RegisterSchema keeps metadata and rules", func() {
		subject := name("contract")
		schema := avro(v1)
		schema.SchemaMetadata = &sr.SchemaMetadata{Properties: map[string]string{"owner": "orders"}}
		schema.SchemaRuleSet = &sr.SchemaRuleSet{DomainRules: []sr.SchemaRule{{
			Name: "positive", Kind: sr.SchemaRuleKindCondition, Mode: sr.SchemaRuleModeWrite,
			Type: "CEL", Tags: []string{"t"}, Expr: "message.id > 0",
		}}}
		id := value(client.RegisterSchema(ctx, subject, schema, -1, -1))
		got := value(client.SchemaByVersion(ctx, subject, 1))
		equal(got.ID, id)
		equal(got.SchemaMetadata, schema.SchemaMetadata)
		equal(got.SchemaRuleSet.DomainRules, schema.SchemaRuleSet.DomainRules)
	}},
	{"CreateSchemaWithIDAndVersion in mode IMPORT", func() {
		subject := name("imported")
		_, err := client.CreateSchemaWithIDAndVersion(ctx, subject, avro(v1), 70000, 7)
		refused(err, sr.ErrOperationNotPermitted, 422)
		for _, result := range client.SetMode(ctx, sr.ModeImport, subject) {
			must(result.Err)
		}
		text := strings.Replace(v1, "Order", "Imported", 1)
		got := value(client.CreateSchemaWithIDAndVersion(ctx, subject, avro(text), 70000, 7))
		equal([]int{got.ID, got.Version}, []int{70000, 7})
	}},
	{"LookupSchema", func() {
		subject := name("lookup")
		_, err := client.LookupSchema(ctx, subject, avro(v1))
		refused(err, sr.ErrSubjectNotFound, 404)
		made := create(subject, v1)
		equal(value(client.LookupSchema(ctx, subject, avro(v1))), made)
		_, err = client.LookupSchema(ctx, subject, avro(v2))
		refused(err, sr.ErrSchemaNotFound, 404)
		spaced := strings.ReplaceAll(v1, `,"fields"`, `,"doc":"d","fields"`)
		_, err = client.LookupSchema(with(sr.Normalize), subject, avro(spaced))
		refused(err, sr.ErrSchemaNotFound, 404)
	}},
	{"Subjects with their parameters", func() {
		prefix := name("listed")
		for _, end := range []string{"-a", "-b", "-c"} {
			create(prefix+end, v1)
		}
		value(client.DeleteSubject(ctx, prefix+"-c", sr.SoftDelete))
		of := sr.SubjectPrefix(prefix)
		equal(value(client.Subjects(with(of))), []string{prefix + "-a", prefix + "-b"})
		equal(len(value(client.Subjects(with(of, sr.ShowDeleted)))), 3)
		equal(value(client.Subjects(with(of, sr.DeletedOnly))), []string{prefix + "-c"})
		equal(value(client.Subjects(with(of, sr.Offset(1), sr.Limit(1)))), []string{prefix + "-b"})
		equal(value(client.Subjects(with(of, sr.Offset(5)))), []string{})
	}},
	{"SubjectVersions", func() {
		subject := name("versions")
		create(subject, v1)
		create(subject, v2)
		equal(value(client.SubjectVersions(ctx, subject)), []int{1, 2})
		must(client.DeleteSchema(ctx, subject, 1, sr.SoftDelete))
		equal(value(client.SubjectVersions(ctx, subject)), []int{2})
		equal(value(client.SubjectVersions(with(sr.ShowDeleted), subject)), []int{1, 2})
		equal(value(client.SubjectVersions(with(sr.DeletedOnly), subject)), []int{1})
		_, err := client.SubjectVersions(ctx, name("unknown"))
		refused(err, sr.ErrSubjectNotFound, 404)
	}},
	{"SchemaByVersion and its text", func() {
		subject := name("by-version")
		create(subject, v1)
		second := create(subject, v2)
		equal(value(client.SchemaByVersion(ctx, subject, 2)), second)
		equal(value(client.SchemaByVersion(ctx, subject, -1)), second)
		equal(value(client.SchemaTextByVersion(ctx, subject, 1)), v1)
		_, err := client.SchemaByVersion(ctx, subject, 3)
		refused(err, sr.ErrVersionNotFound, 404)
	}},
	{"SchemaByID and its text", func() {
		made := create(name("by-id"), v2)
		equal(value(client.SchemaByID(ctx, made.ID)), avro(v2))
		equal(value(client.SchemaTextByID(ctx, made.ID)), v2)
		equal(value(client.SchemaByID(with(sr.FetchMaxID, sr.Subject(made.Subject)), made.ID)), avro(v2))
		_, err := client.SchemaByID(ctx, 1<<30)
		refused(err, sr.ErrSchemaNotFound, 404)
	}},
	{"SchemaByGUID and SchemaIDsByGUID", func() {
		// Without the header, a registry leaves out what older clients do not know.
		extended := value(sr.NewClient(sr.URLs(os.Args[1]), sr.PreReq(func(request *http.Request) error {
			request.Header.Set("Confluent-Accept-Unknown-Properties", "true")
			return nil
		})))
		made := value(extended.CreateSchema(ctx, name("by-guid"), avro(v1)))
		equal(value(client.SchemaByGUID(ctx, made.GUID)).Schema, avro(v1))
		ids := value(client.SchemaIDsByGUID(ctx, made.GUID))
		equal(slices.Contains(ids, sr.ContextID{Context: ".", ID: made.ID}), true)
	}},
	{"SubjectsByID and SchemaVersionsByID", func() {
		text := strings.Replace(v1, "Order", "Shared", 1)
		a, b := name("shared"), name("shared")
		made := create(a, text)
		create(b, text)
		equal(value(client.SubjectsByID(ctx, made.ID)), []string{a, b})
		equal(value(client.SubjectsByID(with(sr.Subject(b)), made.ID)), []string{a, b})
		want := []sr.SubjectVersion{{Subject: a, Version: 1}, {Subject: b, Version: 1}}
		equal(value(client.SchemaVersionsByID(ctx, made.ID)), want)
	}},
	{"SchemaUsagesByID", func() {
		text := strings.Replace(v1, "Order", "Used", 1)
		made := create(name("used"), text)
		equal(value(client.SchemaUsagesByID(ctx, made.ID)), []sr.SubjectSchema{made})
	}},
	{"Schemas and AllSchemas", func() {
		subject := name("all")
		first, second := create(subject, v1), create(subject, v2)
		equal(value(client.Schemas(ctx, subject)), []sr.SubjectSchema{first, second})
		of := sr.SubjectPrefix(subject)
		equal(value(client.AllSchemas(with(of))), []sr.SubjectSchema{first, second})
		equal(value(client.AllSchemas(with(of, sr.LatestOnly))), []sr.SubjectSchema{second})
	}},
	{"SchemaReferences", func() {
		address, order := name("address"), name("order")
		create(address, `{"type":"record","name":"Address","fields":[{"name":"city","type":"string"}]}`)
		schema := avro(`{"type":"record","name":"Order","fields":[{"name":"to","type":"Address"}]}`)
		schema.References = []sr.SchemaReference{{Name: "Address", Subject: address, Version: 1}}
		made := value(client.CreateSchema(ctx, order, schema))
		equal(value(client.SchemaReferences(ctx, address, 1)), []sr.SubjectSchema{made})
		_, err := client.DeleteSubject(ctx, address, sr.SoftDelete)
		refused(err, sr.ErrReferenceExists, 422)
	}},
	{"DeleteSubject and DeleteSchema, soft and hard", func() {
		subject := name("deleted")
		create(subject, v1)
		create(subject, v2)
		refused(client.DeleteSchema(ctx, subject, 1, sr.HardDelete), sr.ErrSchemaVersionNotSoftDeleted, 404)
		must(client.DeleteSchema(ctx, subject, 1, sr.SoftDelete))
		refused(client.DeleteSchema(ctx, subject, 1, sr.SoftDelete), sr.ErrSchemaVersionSoftDeleted, 404)
		must(client.DeleteSchema(ctx, subject, 1, sr.HardDelete))
		_, err := client.DeleteSubject(ctx, subject, sr.HardDelete)
		refused(err, sr.ErrSubjectNotSoftDeleted, 404)
		equal(value(client.DeleteSubject(ctx, subject, sr.SoftDelete)), []int{2})
		_, err = client.DeleteSubject(ctx, subject, sr.SoftDelete)
		refused(err, sr.ErrSubjectSoftDeleted, 404)
		equal(value(client.DeleteSubject(ctx, subject, sr.HardDelete)), []int{2})
		equal(create(subject, v1).Version, 1)
	}},
	{"CheckCompatibility", func() {
		subject := name("checked")
		create(subject, v1)
		equal(value(client.CheckCompatibility(ctx, subject, 1, avro(v2))).Is, true)
		equal(value(client.CheckCompatibility(ctx, subject, -1, avro(v2))).Is, true)
		got := value(client.CheckCompatibility(with(sr.Verbose), subject, 1, avro(wrong)))
		equal(got.Is, false)
		equal(len(got.Messages) > 0, true)
	}},
	{"Compatibility, SetCompatibility, ResetCompatibility", func() {
		subject := name("level")
		refused(client.Compatibility(ctx, subject)[0].Err, sr.ErrSubjectLevelCompatibilityNotConfigured, 404)
		equal(client.Compatibility(with(sr.DefaultToGlobal), subject)[0].Level, sr.CompatBackward)
		wanted := sr.SetCompatibility{
			Level: sr.CompatFullTransitive, Normalize: true, Group: "major",
			DefaultMetadata: &sr.SchemaMetadata{Properties: map[string]string{"owner": "orders"}},
		}
		must(client.SetCompatibility(ctx, wanted, subject)[0].Err)
		got := client.Compatibility(ctx, subject)[0]
		must(got.Err)
		equal([]any{got.Level, got.Normalize, got.Group}, []any{wanted.Level, true, "major"})
		equal(got.DefaultMetadata, wanted.DefaultMetadata)
		must(client.ResetCompatibility(ctx, subject)[0].Err)
		refused(client.Compatibility(ctx, subject)[0].Err, sr.ErrSubjectLevelCompatibilityNotConfigured, 404)
	}},
	{"the global Compatibility", func() {
		equal(client.Compatibility(ctx)[0].Level, sr.CompatBackward)
		must(client.SetCompatibility(ctx, sr.SetCompatibility{Level: sr.CompatNone})[0].Err)
		equal(client.Compatibility(ctx)[0].Level, sr.CompatNone)
		must(client.ResetCompatibility(ctx, sr.GlobalSubject)[0].Err)
		equal(client.Compatibility(ctx)[0].Level, sr.CompatBackward)
	}},
	{"Mode, SetMode, ResetMode", func() {
		subject := name("mode")
		refused(client.Mode(ctx, subject)[0].Err, sr.ErrSubjectLevelModeNotConfigured, 404)
		equal(client.Mode(with(sr.DefaultToGlobal), subject)[0].Mode, sr.ModeReadWrite)
		create(subject, v1)
		must(client.SetMode(ctx, sr.ModeReadOnly, subject)[0].Err)
		equal(client.Mode(ctx, subject)[0].Mode, sr.ModeReadOnly)
		_, err := client.CreateSchema(ctx, subject, avro(v2))
		refused(err, sr.ErrOperationNotPermitted, 422)
		refused(client.SetMode(ctx, sr.ModeImport, subject)[0].Err, sr.ErrOperationNotPermitted, 422)
		must(client.SetMode(with(sr.Force), sr.ModeImport, subject)[0].Err)
		must(client.ResetMode(ctx, subject)[0].Err)
		equal(create(subject, v2).Version, 2)
		equal(client.Mode(ctx)[0].Mode, sr.ModeReadWrite)
	}},
	{"Contexts, InContext, DeleteContext", func() {
		inside := sr.InContext(ctx, ".sr-context")
		made := value(client.CreateSchema(inside, "subject", avro(v1)))
		equal(made.Version, 1)
		equal(value(client.SchemaByID(inside, made.ID)), avro(v1))
		equal(value(client.Contexts(with(sr.ContextPrefix(".sr")))), []string{".sr-context"})
		refused(client.DeleteContext(ctx, ".sr-context"), sr.ErrContextNotEmpty, 422)
		value(client.DeleteSubject(inside, "subject", sr.SoftDelete))
		value(client.DeleteSubject(inside, "subject", sr.HardDelete))
		must(client.DeleteContext(ctx, ".sr-context"))
		equal(slices.Contains(value(client.Contexts(ctx)), ".sr-context"), false)
	}},
	{"JSON Schema and Protobuf", func() {
		for kind, text := range map[sr.SchemaType]string{
			sr.TypeJSON:     `{"type":"object","properties":{"id":{"type":"integer"}}}`,
			sr.TypeProtobuf: "syntax = \"proto3\";\n\nmessage Order {\n  int64 id = 1;\n}\n",
		} {
			made := value(client.CreateSchema(ctx, name("typed"), sr.Schema{Schema: text, Type: kind}))
			equal(made.Schema, sr.Schema{Schema: text, Type: kind})
		}
	}},
	{"Format and RawParams", func() {
		text := "syntax = \"proto3\";\n\nmessage Order {\n  int64 id = 1;\n}\n"
		made := value(client.CreateSchema(ctx, name("format"), sr.Schema{Schema: text, Type: sr.TypeProtobuf}))
		got := value(client.SchemaByID(with(sr.Format("serialized")), made.ID))
		equal(strings.HasPrefix(got.Schema, "Cg"), true)
		params := sr.RawParams(url.Values{"deletedAsNegative": {"true"}, "deleted": {"true"}})
		must(client.DeleteSchema(ctx, made.Subject, 1, sr.SoftDelete))
		equal(value(client.SubjectVersions(with(params), made.Subject)), []int{-1})
	}},
	{"Do", func() {
		var got struct {
			Level string `json:"compatibilityLevel"`
		}
		must(client.Do(ctx, "GET", "/config", nil, &got))
		equal(got.Level, "BACKWARD")
	}},
	{"Serde with a registered id", func() {
		type order struct {
			ID int64 `json:"id"`
		}
		made := create(name("serde"), v1)
		var serde sr.Serde
		serde.Register(made.ID, order{}, sr.EncodeFn(json.Marshal), sr.DecodeFn(json.Unmarshal))
		encoded := value(serde.Encode(order{7}))
		id, _, err := serde.DecodeID(encoded)
		must(err)
		equal(value(client.SchemaByID(ctx, id)), avro(v1))
		var got order
		must(serde.Decode(encoded, &got))
		equal(got, order{7})
	}},
}

func check(run func()) (reason string) {
	defer func() {
		switch got := recover().(type) {
		case nil:
		case failure:
			reason = string(got)
		default:
			reason = fmt.Sprint(got)
		}
	}()
	run()
	return ""
}

func main() {
	defer cancel()
	made, err := sr.NewClient(sr.URLs(os.Args[1]), sr.UserAgent("checks"))
	if err != nil {
		panic(err)
	}
	client = made
	for _, one := range checks {
		if len(os.Args) > 2 && !slices.Contains(os.Args[2:], one.name) {
			continue
		}
		if reason := check(one.run); reason != "" {
			fmt.Printf("not ok - %s: %s\n", one.name, reason)
		} else {
			fmt.Printf("ok - %s\n", one.name)
		}
	}
}
