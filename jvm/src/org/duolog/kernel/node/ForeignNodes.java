package org.duolog.kernel.node;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.types.StructType;
import org.duolog.kernel.record.Grouping;
import org.duolog.kernel.spec.Binder;
import org.duolog.kernel.spec.Binding;
import org.duolog.kernel.spec.ForeignOperators;
import org.duolog.kernel.spec.Operator;
import org.duolog.kernel.store.BucketStore;
import org.duolog.kernel.store.Counter;
import org.duolog.kernel.store.KeyValueStore;
import org.duolog.kernel.store.Newest;
import org.duolog.kernel.task.Node;

/**
 * Builds the nodes of foreign-key joins, with the stores that only they use. This class and
 * {@link SubscriptionResponses} know the first columns of the messages: the value of a subscription
 * starts with the key of its row, its number and the instruction.
 */
final class ForeignNodes {
  private static final List<String> DETAILS = List.of("BIGINT", "INT");

  private final Binding binding;
  private final Grouping grouping;
  private final JoinNodes joins;
  private final Map<String, KeyValueStore> stores;
  private final Map<String, BucketStore> subscriptions = new HashMap<>();
  private final Map<String, Newest> newest = new HashMap<>();

  ForeignNodes(
      Binding binding, Grouping grouping, JoinNodes joins, Map<String, KeyValueStore> stores) {
    this.binding = binding;
    this.grouping = grouping;
    this.joins = joins;
    this.stores = stores;
  }

  /** Creates the store of an operator for its readers, which may be built before the operator. */
  void declareStores(Operator of) {
    if (of instanceof ForeignOperators.Subscriptions kept) {
      int keys = kept.keyTypes().size() + kept.primaryColumns();
      int columns = kept.valueTypes().size() - kept.primaryColumns() - 1;
      String name = kept.store();
      subscriptions.put(name, new BucketStore(name, keys, columns, grouping));
    } else if (of instanceof ForeignOperators.Newest numbers) {
      newest.put(numbers.store(), new Newest(new KeyValueStore(numbers.store(), 1, true)));
    }
  }

  void addNodes(OperatorCases<Node> all) {
    all.add(ForeignOperators.Number.class, this::number)
        .add(ForeignOperators.Announce.class, (owner, of) -> announce(of))
        .add(ForeignOperators.Subscribe.class, this::subscribe)
        .add(ForeignOperators.Subscriptions.class, this::subscriptions)
        .add(ForeignOperators.ForeignTable.class, this::foreignTable)
        .add(ForeignOperators.Newest.class, (owner, of) -> new NewestNode(newest.get(of.store())))
        .add(ForeignOperators.ForeignJoin.class, this::foreignJoin);
  }

  private static Node announce(ForeignOperators.Announce of) {
    return new AnnounceNode(of.left(), of.foreignColumns(), of.valueTypes().size());
  }

  private Node number(String owner, ForeignOperators.Number of) {
    StructType numbered = Binder.with(Binding.record(of), "a", DETAILS.subList(0, 1));
    return new NumberNode(
        new Counter(of.store()),
        binding.computed(owner, Binder.withTs(numbered), of.values(), of),
        of.keyTypes().size(),
        of.valueTypes().size());
  }

  private Node subscribe(String owner, ForeignOperators.Subscribe of) {
    Operator child = binding.child(owner, of);
    StructType sent = Binder.withTs(Binder.with(Binding.record(of), "a", DETAILS));
    return new SubscribeNode(
        of.left(),
        binding.typed(owner, Binding.input(of), of.keys(), child.keyTypes()),
        binding.typed(owner, sent, of.values(), child.valueTypes()),
        of.keyTypes().size(),
        of.valueTypes().size());
  }

  private Node subscriptions(String owner, ForeignOperators.Subscriptions of) {
    int primary = of.primaryColumns();
    int columns = of.valueTypes().size();
    List<String> storedKey = names("k", 0, of.keyTypes().size());
    storedKey.addAll(names("v", 0, primary));
    List<String> storedRow = names("v", primary, primary + 1);
    storedRow.addAll(names("v", primary + 2, columns));
    List<String> rowTypes = new ArrayList<>(of.valueTypes().subList(primary, primary + 1));
    rowTypes.addAll(of.valueTypes().subList(primary + 2, columns));
    List<String> answered = new ArrayList<>(storedRow);
    answered.add(SubscriptionResponses.OUTCOME, "0");
    answered.addAll(of.values());
    StructType withRight = Binder.withTs(Binder.with(Binding.record(of), "r", of.rightTypes()));
    Operator child = binding.child(owner, of);
    return new SubscriptionsNode(
        subscriptions.get(of.store()),
        joins.getter(owner, of.tableStore(), of.getter(), of.rightTypes()),
        binding.typed(owner, Binding.input(of), storedKey, storedKeyTypes(of)),
        binding.typed(owner, Binding.input(of), storedRow, rowTypes),
        new SubscriptionResponses(
            binding.typed(owner, withRight, names("v", 0, primary), child.keyTypes()),
            binding.typed(owner, withRight, answered, child.valueTypes()),
            of.keyTypes().size(),
            columns,
            of.rightTypes().size()),
        of.keyTypes().size(),
        columns,
        primary + 1);
  }

  private static List<String> storedKeyTypes(ForeignOperators.Subscriptions of) {
    List<String> types = new ArrayList<>(of.keyTypes());
    types.addAll(of.valueTypes().subList(0, of.primaryColumns()));
    return types;
  }

  /** Its expressions use v0… for the table's row; together with a stored subscription it is r0…. */
  private Node foreignTable(String owner, ForeignOperators.ForeignTable of) {
    int foreign = of.keyTypes().size();
    List<String> keyTypes = new ArrayList<>(of.keyTypes());
    keyTypes.addAll(of.primaryTypes());
    List<String> rowTypes = new ArrayList<>(DETAILS.subList(0, 1));
    rowTypes.addAll(of.leftTypes());
    StructType key = Binder.with(new StructType(), "k", keyTypes);
    StructType row = Binder.with(Binder.with(key, "v", rowTypes), "r", of.valueTypes());
    List<String> answered = names("v", 0, rowTypes.size());
    answered.add(SubscriptionResponses.OUTCOME, "0");
    of.values().forEach(value -> answered.add("r" + value.substring(1)));
    Operator child = binding.child(owner, of);
    return new ForeignTableNode(
        subscriptions.get(of.subscriptions()),
        binding.typed(owner, Binder.withTs(key), names("k", 0, foreign), of.keyTypes()),
        new SubscriptionResponses(
            binding.typed(
                owner,
                Binder.withTs(row),
                names("k", foreign, keyTypes.size()),
                child.keyTypes()),
            binding.typed(owner, Binder.withTs(row), answered, child.valueTypes()),
            keyTypes.size(),
            rowTypes.size(),
            of.valueTypes().size()),
        keyTypes.size());
  }

  private Node foreignJoin(String owner, ForeignOperators.ForeignJoin of) {
    return new ForeignJoinNode(
        newest.get(of.newest()),
        stores.get(of.results()),
        of.left(),
        binding.computed(owner, Binding.input(of), of.values(), of),
        of.keyTypes().size(),
        of.valueTypes().size());
  }

  private static List<String> names(String letter, int from, int to) {
    List<String> names = new ArrayList<>();
    for (int i = from; i < to; i++) {
      names.add(letter + i);
    }
    return names;
  }
}
