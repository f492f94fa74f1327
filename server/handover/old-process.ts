/** The old process of a handover: releases the database, forwards new requests, ends its open ones and has them billed by the other. */
import { chmodSync, rmSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import type { CommandMessage } from '../billing/ledger/client.ts';
import type { Remote } from '../billing/ledger/remote.ts';
import type { TaskCallAnswer } from '../relay/endpoints/tasks/calls.ts';
import type { ToControl } from '../threads/control/messages.ts';
import { type FromNewProcess, type FromOldProcess, type Line, openLine, protocolVersion } from './messages.ts';
import type { OpenMoney } from './open-requests.ts';

/** What a server has that another can follow. */
export interface OldServer {
  readonly port: number;
  readonly listeners: number;
  /** This process does not use the folder from here on; new requests wait, and so do bills. @throws Error why not; then nothing has changed. */
  release(pid: number): Promise<void>;
  /** All is as it was. */
  resume(): Promise<void>;
  /** Newcomers go to that socket. */
  forwardTo(endpoint: string): void;
  openMoney(): OpenMoney;
  /** Bills that are not answered. */
  pending(): number;
  follow(send: (message: CommandMessage) => void): Pick<Remote, 'receive' | 'fail'>;
  taskResponded(answer: TaskCallAnswer): void;
  /** New connections have gone to the other for a while: this one listens no more. */
  leavePort(): Promise<void>;
  /** Ends open requests, and everything. */
  stopAfterHandover(): Promise<void>;
  /** The other stops: open requests here, and of the server before, end now. */
  hurry(): void;
  /** The other has died in this one's place: ends at once, as a failure, so that a supervisor starts the next. */
  fail(): void;
}

export interface HandoverListener {
  /** Messages for the API's thread of the following server. @returns false when none follows. */
  control(message: ToControl): boolean;
  stop(): void;
}

/** Interval of updates about open requests. */
const reportMs = 200;

type Phase = 'waiting' | 'releasing' | 'released' | 'followed';

export function listenForHandover(path: string, oldServer: OldServer): HandoverListener {
  let successor: Line<FromOldProcess> | null = null;
  let phase: Phase = 'waiting';
  let remote: ReturnType<OldServer['follow']> | null = null;

  const follow = async (line: Line<FromOldProcess>, endpoint: string): Promise<void> => {
    phase = 'followed';
    oldServer.forwardTo(endpoint);
    remote = oldServer.follow(line.send);
    let before = oldServer.openMoney();
    const reporting = setInterval(() => {
      // What had ended by the time of the last look is billed: the other may let go of it.
      if (oldServer.pending() === 0) line.send({ kind: 'open money', open: before });
      before = oldServer.openMoney();
    }, reportMs);
    await oldServer.leavePort();
    line.send({ kind: 'port left' });
    await oldServer.stopAfterHandover();
    clearInterval(reporting);
    line.send({ kind: 'gone' });
    line.end();
  };

  const release = async (line: Line<FromOldProcess>, pid: number): Promise<void> => {
    phase = 'releasing';
    try {
      await oldServer.release(pid);
    } catch (error) {
      successor = null;
      phase = 'waiting';
      line.send({ kind: 'refused', reason: error instanceof Error ? error.message : String(error) });
      line.end();
      return;
    }
    phase = 'released';
    // Its own socket takes this one's place.
    server.close();
    rmSync(path, { force: true });
    // The new process may have died meanwhile: then no process serves unless this one does.
    if (successor === line) line.send({ kind: 'released' });
    else takeBack();
  };

  const takeBack = (): void => {
    void oldServer.resume().then(() => {
      phase = 'waiting';
      listen();
    });
  };

  const attend = (socket: Socket): void => {
    let pid = 0;
    const welcome = (hello: Extract<FromNewProcess, { kind: 'hello' }>): void => {
      if (successor !== null || phase !== 'waiting' || hello.dialect !== protocolVersion) {
        const reason =
          successor === null && phase === 'waiting' ? 'it is of another version' : 'another one takes over already';
        line.send({ kind: 'refused', reason });
        return;
      }
      successor = line;
      pid = hello.pid;
      const { port, listeners } = oldServer;
      line.send({ kind: 'welcome', dialect: protocolVersion, pid: process.pid, port, listeners });
    };
    const receive = (message: FromNewProcess): void => {
      if (message.kind === 'hello') welcome(message);
      if (successor !== line) return;
      switch (message.kind) {
        case 'release':
          void release(line, pid);
          break;
        case 'ready':
          line.send({ kind: 'open money', open: oldServer.openMoney() });
          break;
        case 'open':
          void follow(line, message.door);
          break;
        case 'moved':
          oldServer.forwardTo(message.door);
          break;
        case 'hurry':
          oldServer.hurry();
          break;
        case 'answers':
          remote?.receive(message.ids, message.answers);
          break;
        case 'taskAnswered':
          oldServer.taskResponded(message);
          break;
        case 'hello':
          break;
      }
    };
    const lost = (): void => {
      if (successor !== line) return;
      successor = null;
      if (phase === 'followed') {
        remote?.fail('the server that took over is gone');
        oldServer.fail();
      }
      if (phase === 'released') takeBack();
    };
    const line: Line<FromOldProcess> = openLine(socket, receive, lost);
  };

  let server = createServer();
  const listen = (): void => {
    rmSync(path, { force: true });
    server = createServer(attend);
    // Without it no process can follow, and everything else is as it is.
    server.on('error', () => undefined);
    server.listen(path, () => chmodSync(path, 0o600));
    server.unref();
  };
  listen();

  return {
    control(message) {
      if (phase !== 'followed') return false;
      successor?.send({ kind: 'control', message });
      return true;
    },
    stop() {
      if (phase !== 'waiting') return;
      server.close();
      rmSync(path, { force: true });
    },
  };
}
