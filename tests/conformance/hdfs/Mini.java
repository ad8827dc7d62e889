import java.io.File;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.MiniDFSCluster;

/** A real HDFS in one process: a name node and a data node on free ports of 127.0.0.1. Ends with its standard input. */
public final class Mini {
  private Mini() {}

  public static void main(String[] arguments) throws Exception {
    Configuration conf = new Configuration();
    conf.set(MiniDFSCluster.HDFS_MINIDFS_BASEDIR, new File(arguments[0]).getAbsolutePath());
    conf.set("dfs.permissions.enabled", "true");
    MiniDFSCluster cluster = new MiniDFSCluster.Builder(conf).numDataNodes(1).build();
    cluster.waitActive();
    System.out.println("ready " + cluster.getURI());
    int asked;
    while ((asked = System.in.read()) >= 0) {
      switch (asked) {
        case 's' -> cluster.getFileSystem().setSafeMode(org.apache.hadoop.fs.SafeModeAction.ENTER);
        case 'l' -> cluster.getFileSystem().setSafeMode(org.apache.hadoop.fs.SafeModeAction.LEAVE);
        case 'q' -> cluster.getFileSystem().setQuota(new org.apache.hadoop.fs.Path("/"), Long.MAX_VALUE - 1, 1L);
        case 'd' -> cluster.shutdownNameNode(0);
        case 'u' -> cluster.restartNameNode(0, true);
        default -> { continue; }
      }
      System.out.println("done");
    }
    cluster.shutdown();
  }
}
