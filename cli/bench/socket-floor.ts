/** A relay of plain sockets on both sides, which looks for nothing but the ends of answers: neither the runtime's HTTP server nor its client takes part. */
import type { Socket } from 'bun';
import { Answer } from './answer.ts';

/** One side of a relayed request. */
class Side {
  /** Where what comes here goes. */
  peer: Socket<Side> | null = null;
  /** What the socket did not take yet. */
  unsent: Buffer[] = [];
  /** What a client has sent while its upstream is being connected to. */
  early: Buffer[] | null = null;
  readonly answer = new Answer();
}

function send(socket: Socket<Side>, bytes: Buffer): void {
  const { unsent } = socket.data;
  const written = unsent.length > 0 ? 0 : Math.max(0, socket.write(bytes));
  if (written < bytes.length) unsent.push(bytes.subarray(written));
}

function drain(socket: Socket<Side>): void {
  const { unsent } = socket.data;
  socket.data.unsent = [];
  for (const bytes of unsent) send(socket, bytes);
}

function join(client: Socket<Side>, upstream: Socket<Side>): void {
  client.data.peer = upstream;
  upstream.data.peer = client;
  upstream.data.answer.begin();
}

/** Neither side serves another request after half of one. */
function end({ data }: Socket<Side>): void {
  const { peer } = data;
  data.peer = null;
  if (peer === null) return;
  peer.data.peer = null;
  peer.terminate();
}

/** @param port of this machine, where whatever comes is passed on to `upstream`, a port too. */
export function serveSockets(port: number, upstream: number): { stop(closesConnections?: boolean): void } {
  const idle: Socket<Side>[] = [];

  const answered = (socket: Socket<Side>, piece: Buffer): void => {
    const { peer, answer } = socket.data;
    if (peer === null) return void socket.terminate();
    send(peer, piece);
    if (!answer.isOver(piece)) return;
    peer.data.peer = null;
    socket.data.peer = null;
    idle.push(socket);
  };
  const gone = (socket: Socket<Side>): void => {
    const at = idle.indexOf(socket);
    if (at >= 0) idle.splice(at, 1);
    end(socket);
  };
  const connect = (client: Socket<Side>): void => {
    const open = (socket: Socket<Side>): void => {
      join(client, socket);
      for (const bytes of client.data.early ?? []) send(socket, bytes);
      client.data.early = null;
    };
    const socket = { open, data: answered, drain, close: gone };
    Bun.connect<Side>({ hostname: '127.0.0.1', port: upstream, data: new Side(), socket }).catch(() =>
      client.terminate(),
    );
  };
  const requested = (client: Socket<Side>, piece: Buffer): void => {
    const { peer, early } = client.data;
    if (early !== null) {
      early.push(piece);
      return;
    }
    const known = peer ?? idle.pop();
    if (known === undefined) {
      client.data.early = [piece];
      connect(client);
      return;
    }
    if (peer === null) join(client, known);
    send(known, piece);
  };
  const open = (client: Socket<Side>): void => {
    client.data = new Side();
  };
  return Bun.listen<Side>({ hostname: '127.0.0.1', port, socket: { open, data: requested, drain, close: end } });
}
