package org.duolog.kernel.functions.format.schema;

import java.util.Properties;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.TaskContextImpl;

/**
 * Prints the credentials for two addresses, or {@code none}, on an executor: first outside of a
 * task, then in a task of a query with users, then with Spark's setting, in a task and outside.
 *
 * <p>Its arguments are the local property of the query and the value of the setting.
 */
public final class RegistryUserSteps {
  private static final String PROPERTY = "duolog.schema.registry.passwords";
  private static final String SETTING = "spark.duolog.schema.registry.password";

  private RegistryUserSteps() {}

  public static void main(String[] arguments) {
    print();
    inTask(arguments[0]);
    SparkConf conf = new SparkConf(false).set(SETTING, arguments[1]);
    SparkEnv.set(
        new SparkEnv("1", null, null, null, null, null, null, null, null, null, null, conf));
    inTask(arguments[0]);
    print();
  }

  private static void inTask(String users) {
    Properties properties = new Properties();
    properties.setProperty(PROPERTY, users);
    TaskContext task =
        new TaskContextImpl(0, 0, 0, 0, 0, 1, null, properties, null, null, null, null);
    TaskContext.withTaskContext(
        task,
        () -> {
          print();
          return null;
        });
  }

  private static void print() {
    for (String address : new String[] {"http://a:1/", "http://b"}) {
      String header = RegistryUsers.authorization(address);
      System.out.println(header == null ? "none" : header.replace("Basic ", ""));
    }
  }
}
