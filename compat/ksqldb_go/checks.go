// What a user of ksqldb-go does with a server: every method of the client.
// checks h2c|http1|logins [NAME...]   prints a line for each check

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/thmeitz/ksqldb-go"
	"github.com/thmeitz/ksqldb-go/net"
)

const limit = 2 * time.Minute

var (
	ctx    = context.Background()
	client ksqldb.KsqldbClient
	count  int
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
		panic(failure(fmt.Sprintf("got %#v, not %#v", got, want)))
	}
}

func value[T any](got T, err error) T {
	must(err)
	return got
}

func refused(err error, code int) {
	var found ksqldb.ResponseError
	if !errors.As(err, &found) || found.ErrCode != code {
		panic(failure(fmt.Sprintf("got %#v, not the code %d", err, code)))
	}
}

func name(what string) string {
	count++
	return fmt.Sprintf("%s_%d", what, count)
}

func execute(statement string) ksqldb.KsqlResponse {
	return (*value(client.Execute(ctx, ksqldb.ExecOptions{KSql: statement})))[0]
}

func stream(what string) string {
	made := name(what)
	got := execute(fmt.Sprintf(
		"CREATE STREAM %s (ID VARCHAR KEY, N INT, D DOUBLE) WITH (KAFKA_TOPIC='%s', VALUE_FORMAT='JSON', PARTITIONS=1);",
		made, made))
	equal(got.CommandStatus.Status, "SUCCESS")
	return made
}

func insert(target, id string, n int) {
	query := value(ksqldb.QueryBuilder("INSERT INTO "+target+" (ID, N, D) VALUES (?, ?, ?);", id, n, 0.5))
	// The answer to an insert is an empty list.
	equal(len(*value(client.Execute(ctx, ksqldb.ExecOptions{KSql: *query}))), 0)
}

func pull(query string) (ksqldb.Header, ksqldb.Payload) {
	header, rows, err := client.Pull(ctx, ksqldb.NewDefaultPullQueryOptions(query))
	must(err)
	return header, rows
}

// until calls a function until it returns true.
func until(found func() bool) {
	for end := time.Now().Add(limit); !found(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			panic(failure("it did not happen"))
		}
	}
}

type check struct {
	name string
	run  func()
}

var checks = []check{
	{"GetServerInfo", func() {
		got := value(client.GetServerInfo(ctx))
		equal([]string{got.KsqlServiceID, got.ServerStatus}, []string{"default_", "RUNNING"})
		equal(got.Version != "" && got.KafkaClusterID != "", true)
	}},
	{"GetServerStatus", func() {
		got := value(client.GetServerStatus(ctx))
		equal([]bool{*got.IsHealthy, *got.Details.Metastore.IsHealthy, *got.Details.Kafka.IsHealthy}, []bool{true, true, true})
	}},
	{"GetClusterStatus", func() {
		got := value(client.GetClusterStatus(ctx))
		equal(len(got.ClusterStatus.Host), 1)
		for _, node := range got.ClusterStatus.Host {
			equal(node.HostAlive, true)
		}
	}},
	{"ValidateProperty", func() {
		equal(*value(client.ValidateProperty(ctx, "ksql.streams.auto.offset.reset")), true)
		_, err := client.ValidateProperty(ctx, "ksql.service.id")
		refused(err, 40000)
	}},
	{"Execute answers with the command", func() {
		made := name("CREATED")
		got := execute("CREATE STREAM " + made + " (N INT) WITH (KAFKA_TOPIC='" + made + "', VALUE_FORMAT='JSON', PARTITIONS=1);")
		equal([]string{got.Type, got.CommandStatus.Status}, []string{"currentStatus", "SUCCESS"})
		equal(got.CommandId, "stream/`"+made+"`/create")
		equal(len(got.Warnings), 0)
		status := value(client.GetQueryStatus(ctx, "/"+got.CommandId))
		equal(status.Status, "SUCCESS")
	}},
	{"Execute with properties, session variables and a sequence number", func() {
		source, made := stream("SOURCE"), name("COPIED")
		insert(source, "a", 1)
		got := (*value(client.Execute(ctx, ksqldb.ExecOptions{
			KSql:                  "CREATE STREAM ${to} AS SELECT * FROM ${from} EMIT CHANGES;",
			StreamsProperties:     ksqldb.PropertyMap{"ksql.streams.auto.offset.reset": "earliest"},
			SessionVariables:      ksqldb.SessionVariablesMap{"to": made, "from": source},
			CommandSequenceNumber: 1,
		})))[0]
		equal(got.CommandStatus.Status, "SUCCESS")
		until(func() bool {
			_, rows := pull("SELECT N FROM " + made + ";")
			return len(rows) == 1
		})
		queries := *execute("LIST STREAMS;").Stream
		equal(slices.ContainsFunc(queries, func(one ksqldb.Stream) bool { return one.Name == made }), true)
	}},
	{"Execute reports what the server refuses", func() {
		_, err := client.Execute(ctx, ksqldb.ExecOptions{KSql: "DROP STREAM MISSING;"})
		refused(err, 40001)
	}},
	{"Execute describes a source", func() {
		made := stream("DESCRIBED")
		got := execute("DESCRIBE " + made + ";").SourceDescription
		equal([]string{got.Name, got.Type, got.Topic}, []string{made, "STREAM", made})
		equal(len(got.Fields), 3)
		equal(got.Fields[0], ksqldb.Field{Name: "ID", Schema: ksqldb.Schema{Type: "STRING"}})
	}},
	{"Pull returns the header and the rows", func() {
		made := stream("PULLED")
		insert(made, "it's", 1)
		insert(made, "ä", 2)
		header, rows := pull("SELECT * FROM " + made + ";")
		equal(header.Columns, []ksqldb.Column{{Name: "ID", Type: "STRING"}, {Name: "N", Type: "INTEGER"}, {Name: "D", Type: "DOUBLE"}})
		equal(rows, ksqldb.Payload{{"it's", 1.0, 0.5}, {"ä", 2.0, 0.5}})
	}},
	{"Pull from a table by its key and by a scan", func() {
		source, made := stream("COUNTED"), name("COUNTS")
		execute("SET 'auto.offset.reset' = 'earliest'; CREATE TABLE " + made + " AS SELECT ID, COUNT(*) AS K FROM " + source + " GROUP BY ID EMIT CHANGES;")
		for _, id := range []string{"a", "b", "a"} {
			insert(source, id, 1)
		}
		until(func() bool {
			_, rows := pull("SELECT K FROM " + made + " WHERE ID = 'a';")
			return len(rows) == 1 && rows[0][0] == 2.0
		})
		_, rows := pull("SELECT ID, K FROM " + made + ";")
		equal(len(rows), 2)
		options := ksqldb.QueryOptions{Sql: "SELECT ID, K FROM " + made + ";"}
		// Only ksql.compatibility=strict makes the server refuse a scan.
		_, rows, err := client.Pull(ctx, *options.EnablePullQueryTableScan(false))
		must(err)
		equal(len(rows), 2)
	}},
	{"Pull reports what the server refuses", func() {
		_, _, err := client.Pull(ctx, ksqldb.NewDefaultPullQueryOptions("SELECT * FROM MISSING;"))
		refused(err, 40001)
	}},
	{"Push delivers the header and rows until ClosePushQuery", func() {
		made := stream("PUSHED")
		rows, headers, ended := make(chan ksqldb.Row, 10), make(chan ksqldb.Header, 10), make(chan error, 1)
		go func() {
			query := "SELECT ID, N FROM " + made + " EMIT CHANGES;"
			ended <- client.Push(ctx, ksqldb.NewDefaultPushQueryOptions(query), rows, headers)
		}()
		header := received(headers)
		equal(header.Columns, []ksqldb.Column{{Name: "ID", Type: "STRING"}, {Name: "N", Type: "INTEGER"}})
		insert(made, "a", 1)
		equal(received(rows), ksqldb.Row{"a", 1.0})
		must(client.ClosePushQuery(ctx, header.QueryId))
		must(received(ended))
		refused(client.ClosePushQuery(ctx, header.QueryId), 40000)
	}},
	{"Push from the start with a limit", func() {
		made := stream("LIMITED")
		for n := range 100 {
			insert(made, fmt.Sprint(n), n)
		}
		rows, headers := make(chan ksqldb.Row, 200), make(chan ksqldb.Header, 1)
		options := ksqldb.QueryOptions{Sql: "SELECT N FROM " + made + " EMIT CHANGES LIMIT 100;"}
		must(client.Push(ctx, *options.AutoOffsetReset(ksqldb.EARLIEST), rows, headers))
		equal(len(rows), 100)
		for n := range 100 {
			equal(<-rows, ksqldb.Row{float64(n)})
		}
	}},
	{"Push reports what the server refuses", func() {
		err := client.Push(ctx, ksqldb.NewDefaultPushQueryOptions("SELECT * FROM MISSING EMIT CHANGES;"), nil, nil)
		refused(err, 40001)
	}},
	{"statements that its parser does not know", func() {
		client.EnableParseSQL(false)
		defer client.EnableParseSQL(true)
		equal(client.ParseSQLEnabled(), false)
		equal(execute("LIST VARIABLES;").Type, "variables")
	}},
}

var logins = []check{
	{"a user runs statements and queries", func() {
		made := stream("WITH_LOGIN")
		insert(made, "a", 1)
		_, rows := pull("SELECT N FROM " + made + ";")
		equal(rows, ksqldb.Payload{{1.0}})
	}},
	{"another password is refused", func() {
		other := value(ksqldb.NewClientWithOptions(net.Options{
			BaseUrl:     os.Getenv("SQL_URL"),
			Credentials: net.Credentials{Username: os.Getenv("SQL_USER"), Password: "wrong"},
		}))
		_, err := other.Execute(ctx, ksqldb.ExecOptions{KSql: "LIST STREAMS;"})
		refused(err, 40100)
	}},
	{"GetQueryStatus sends a login", func() {
		_, err := client.GetQueryStatus(ctx, "/stream/MISSING/create")
		refused(err, 40400)
	}},
}

func received[T any](from chan T) T {
	select {
	case got := <-from:
		return got
	case <-time.After(limit):
		panic(failure("nothing was received"))
	}
}

func outcome(run func()) (reason string) {
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
	mode, wanted := os.Args[1], os.Args[2:]
	client = value(ksqldb.NewClientWithOptions(net.Options{
		BaseUrl:     os.Getenv("SQL_URL"),
		AllowHTTP:   mode == "h2c",
		Credentials: net.Credentials{Username: os.Getenv("SQL_USER"), Password: os.Getenv("SQL_PASSWORD")},
	}))
	defer client.Close()
	selected := checks
	if mode == "logins" {
		selected = logins
	}
	for _, one := range selected {
		if len(wanted) > 0 && !slices.Contains(wanted, one.name) {
			continue
		}
		if reason := outcome(one.run); reason != "" {
			fmt.Printf("not ok - %s: %s\n", one.name, strings.ReplaceAll(reason, "\n", " "))
		} else {
			fmt.Printf("ok - %s\n", one.name)
		}
	}
	fmt.Println("done")
}
