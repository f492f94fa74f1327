/** The new process of a handover: asks to take over, holds the reservations of open requests there, and writes their bills. */
import { rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import type { Balances } from '../billing/balances/money.ts';
import type { CommandAnswer, CommandMessage, LedgerClient } from '../billing/ledger/client.ts';
import type { Settle } from '../billing/ledger/commands.ts';
import { amountIn, type BudgetParts } from '../contract/budgets.ts';
import { AppError } from '../contract/errors.ts';
import type { TaskCallAnswer } from '../relay/endpoints/tasks/calls.ts';
import type { ToControl } from '../threads/control/messages.ts';
import { createSteering } from './listener-choice.ts';
import { type FromNewProcess, type FromOldProcess, type Line, openLine, protocolVersion } from './messages.ts';
import { createRemoteReservations, type OpenMoney } from './open-requests.ts';

export interface TakenOver {
  readonly port: number;
  /** The pid of the server that is followed. */
  readonly pid: number;
  /** It lets go of the database. @throws AppError take_over_refused; then it serves on. */
  release(): Promise<void>;
  /** Holds what open requests there have reserved, and takes over their bills. Resolves when requests may be admitted. */
  reserve(deps: ReserveDeps): Promise<void>;
  /** This server listens. @param listeners on the port. @param endpoint where the other forwards requests that still reach it. */
  open(listeners: number, endpoint: string): void;
  taskResponded(answer: TaskCallAnswer): void;
  /** A third server has followed this one, and takes what still reaches the first. */
  moved(endpoint: string): void;
  /** This server stops soon: the other ends what it has open at once. */
  hurry(): void;
  /** This one is alone on the port, as far as the other tells: only then may a third choose among its listeners. */
  readonly alone: Promise<void>;
  /** The other has ended. @returns whether it announced that. */
  readonly ended: Promise<boolean>;
  end(): void;
}

export interface ReserveDeps {
  readonly balances: Balances;
  readonly ledger: Pick<LedgerClient, 'execute'>;
  readonly control: (message: ToControl) => void;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

const none: OpenMoney = { users: [], tokens: [], groups: [] };

/** @param owner process that uses the folder. @throws AppError take_over_refused */
export async function requestHandover(path: string, owner: number): Promise<TakenOver> {
  const rejected = (reason: string) => new AppError('take_over_refused', { pid: owner, reason });
  const socket = await connectTo(path).catch((error: unknown) => {
    throw rejected(error instanceof Error ? error.message : String(error));
  });
  const welcome = Promise.withResolvers<Extract<FromOldProcess, { kind: 'welcome' }>>();
  const released = Promise.withResolvers<void>();
  const firstMoney = Promise.withResolvers<OpenMoney>();
  const ended = Promise.withResolvers<boolean>();
  const alone = Promise.withResolvers<void>();
  for (const { promise } of [welcome, released, firstMoney]) promise.catch(() => undefined);
  let bills: ReturnType<typeof createBills> | null = null;
  let reported = false;

  const receive = (message: FromOldProcess): void => {
    switch (message.kind) {
      case 'welcome':
        welcome.resolve(message);
        break;
      case 'released':
        released.resolve();
        break;
      case 'refused':
        welcome.reject(rejected(message.reason));
        released.reject(rejected(message.reason));
        break;
      case 'open money':
        firstMoney.resolve(message.open);
        bills?.setReserved(message.open);
        break;
      case 'commands':
        bills?.take(message);
        break;
      case 'control':
        bills?.control(message.message);
        break;
      case 'port left':
        alone.resolve();
        break;
      case 'gone':
        reported = true;
    }
  };
  const line: Line<FromNewProcess> = openLine(socket, receive, () => {
    welcome.reject(rejected('it hung up'));
    released.reject(rejected('it hung up'));
    // It is gone, and so are its open requests.
    firstMoney.resolve(none);
    void bills?.over();
    alone.resolve();
    ended.resolve(reported);
  });
  line.send({ kind: 'hello', dialect: protocolVersion, pid: process.pid });
  const { port, pid, listeners: theirs } = await welcome.promise;
  const steering = createSteering(port);

  return {
    port,
    pid,
    release() {
      line.send({ kind: 'release' });
      return released.promise;
    },
    async reserve(deps) {
      line.send({ kind: 'ready' });
      const open = await firstMoney.promise;
      bills = createBills(deps, line);
      bills.setReserved(open);
    },
    open(listeners, endpoint) {
      steering.to(theirs, listeners);
      line.send({ kind: 'open', door: endpoint });
      // Once, and before a third attaches a choice of its own.
      void alone.promise.then(steering.free);
      void ended.promise.then(() => rmSync(endpoint, { force: true }));
    },
    taskResponded: (answer) => line.send({ kind: 'taskAnswered', ...answer }),
    moved: (endpoint) => line.send({ kind: 'moved', door: endpoint }),
    hurry: () => line.send({ kind: 'hurry' }),
    alone: alone.promise,
    ended: ended.promise,
    end: line.end,
  };
}

/** A server that has just taken over itself opens its socket as its last step: it is waited for. */
const connectAttempts = 100;
const connectEveryMs = 100;

async function connectTo(path: string): Promise<Socket> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await connectOnce(path);
    } catch (error) {
      const isOpening = ['ENOENT', 'ECONNREFUSED'].includes((error as { code?: string }).code ?? '');
      if (!isOpening || attempt === connectAttempts) throw error;
      await Bun.sleep(connectEveryMs);
    }
  }
}

function connectOnce(path: string): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const socket = connect(path, () => resolve(socket));
  socket.once('error', reject);
  return promise;
}

/** Numbers below zero are the other's; its own below zero are of the server before it. */
export const taskOfOther = (id: number): number => (id < 0 ? 2 * id - 1 : -2 * id);
/** @param id below zero. @returns the other's own number. */
export const taskThere = (id: number): number => (id % 2 === 0 ? -id / 2 : (id + 1) / 2);

/** What the other's open requests still say of upstreams, and of this program. */
const ofRequests: ReadonlySet<ToControl['kind']> = new Set(['trouble', 'traffic', 'learnt', 'defect']);

/** Bills of the other's requests: written here, and counted here like our own. */
function createBills({ balances, ledger, control }: ReserveDeps, line: Line<FromNewProcess>) {
  const remote = createRemoteReservations(balances.money);
  const writing = new Set<Promise<unknown>>();

  const charge = ({ userId, tokenId, amount, tokens, budgets, house: selfUse = false }: Settle): void => {
    const account = balances.account(userId, tokenId);
    remote.underLock(account.stripe, () => account.settle({ reserved: 0, charged: amount, selfUse }));
    if (budgets !== undefined) countIn(budgets, amount, tokens);
  };
  const countIn = (parts: BudgetParts, amount: number, tokens: number): void => {
    for (const holder of balances.budgets.all())
      if (holder.isNamedIn(parts))
        remote.underLock(holder.stripe, () => {
          for (let at = 0; at < parts.length; at += 3)
            holder.countOf(parts[at] ?? 0, parts[at + 1] ?? 0, amountIn(parts[at + 2] ?? 0, amount, 1, tokens));
        });
  };

  return {
    setReserved: remote.set,
    take({ first, commands }: CommandMessage): void {
      for (const [at, command] of commands.entries()) {
        if (command.type === 'settle') charge(command);
        const written = ledger
          .execute(command)
          .then(
            (result): CommandAnswer => (result.status === 'done' ? null : result),
            (error: unknown): CommandAnswer => (error instanceof Error ? error.message : String(error)),
          )
          .then((answer) => line.send({ kind: 'answers', ids: [first + at], answers: [answer] }))
          .finally(() => writing.delete(written));
        writing.add(written);
      }
    },
    control(message: ToControl): void {
      if (message.kind === 'task') control({ ...message, id: taskOfOther(message.id) });
      if (ofRequests.has(message.kind)) control(message);
    },
    async over(): Promise<void> {
      await Promise.all(writing);
      remote.set(none);
    },
  };
}
