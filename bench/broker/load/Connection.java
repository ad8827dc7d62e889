import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;

/** One connection: collects whole answers, and writes when the socket takes more. */
abstract class Connection {
  static final int SIZE_BYTES = 4;

  final Load load;
  final SocketChannel channel;
  private final SelectionKey key;
  private ByteBuffer received;

  Connection(Load load, int bufferBytes) throws IOException {
    this.load = load;
    channel = SocketChannel.open(load.address);
    channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
    received = ByteBuffer.allocateDirect(bufferBytes);
    channel.configureBlocking(false);
    key = channel.register(load.selector, SelectionKey.OP_READ, this);
  }

  /** Send what is sent before any answer. */
  abstract void begin() throws IOException;

  /** Check the response in {@code buffer} at {@code start}, after its size. */
  abstract void answered(ByteBuffer buffer, int start, int size);

  /** All answers that had come are looked at: send what follows them. */
  abstract void goOn() throws IOException;

  /** Write what waits; true when nothing is left. */
  abstract boolean write() throws IOException;

  final void ready() {
    try {
      if (key.isReadable()) {
        receive();
      }
      flush();
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }

  final void flush() throws IOException {
    int wanted = write() ? SelectionKey.OP_READ : SelectionKey.OP_READ | SelectionKey.OP_WRITE;
    if (wanted != key.interestOps()) {
      key.interestOps(wanted);
    }
  }

  private void receive() throws IOException {
    if (channel.read(received) < 0) {
      throw new IOException("the broker closed a connection");
    }
    int end = received.position();
    int start = 0;
    boolean any = false;
    int needed = 0;
    while (end - start >= SIZE_BYTES) {
      int size = received.getInt(start);
      if (end - start < SIZE_BYTES + size) {
        needed = SIZE_BYTES + size;
        break;
      }
      answered(received, start + SIZE_BYTES, size);
      any = true;
      start += SIZE_BYTES + size;
    }
    if (start > 0) {
      received.limit(end).position(start);
      received.compact();
    }
    if (needed > received.capacity()) {
      ByteBuffer larger = ByteBuffer.allocateDirect(needed + needed / 4);
      received.flip();
      larger.put(received);
      received = larger;
    }
    if (any) {
      goOn();
    }
  }
}
