/** Several nodes of one site in one process, each with its ledger, its leases and its own stretch of network; between them the wire that carries who waits for what. */

import { createMemory } from '../../server/billing/balances/shared-memory.ts';
import { type LeaseAnswer, Leases } from '../../server/billing/leases/leases.ts';
import { createNodeLease } from '../../server/billing/leases/node-lease.ts';
import type { LedgerResult } from '../../server/billing/ledger/commands.ts';
import { type Engine, LedgerEngine } from '../../server/billing/ledger/engine.ts';
import type { LeaseKind } from '../../server/billing/ports.ts';
import { reserve, settle } from '../ledger/support.ts';
import { type Stretch, startProxy } from './proxy.ts';
import type { Site, TestNode } from './site.ts';

export interface OpenRequest {
  readonly ref: string;
  readonly account: number;
  readonly amount: number;
  readonly generation: number;
  readonly epoch: number;
}

export interface ClusterNode {
  readonly name: string;
  readonly leases: Leases;
  readonly engine: Engine;
  readonly proxy: Stretch;
  readonly node: TestNode;
  readonly open: OpenRequest[];
  /** Milliseconds that its clocks are ahead. */
  ahead: { monotonic: number; wall: number };
  frozen: boolean;
  admit(ref: string, account: number, amount: number, use?: number): Promise<LeaseAnswer>;
  end(request: OpenRequest, charged: number): Promise<LedgerResult>;
  beat(): Promise<void>;
  /** What nothing uses goes back. */
  rest(account: number): void;
  reachOf(account: number): number;
}

export interface Cluster {
  readonly nodes: readonly ClusterNode[];
  stop(): Promise<void>;
}

export async function startCluster(site: Site, count: number): Promise<Cluster> {
  const nodes: ClusterNode[] = [];
  for (let n = 0; n < count; n++) nodes.push(await startNode(site, `n${n}`, nodes));
  for (const node of nodes) await node.beat();
  return {
    nodes,
    async stop() {
      for (const { proxy, node } of nodes) {
        node.store.close();
        await proxy.stop();
      }
    },
  };
}

async function startNode(site: Site, name: string, peers: readonly ClusterNode[]): Promise<ClusterNode> {
  const proxy = await startProxy(site.url);
  const ahead = { monotonic: 0, wall: 0 };
  const life = createNodeLease(createMemory(), {
    monoNow: () => performance.now() + ahead.monotonic,
    wall: () => Date.now() + ahead.wall,
  });
  // What others take for gone has given no sign of life for a while.
  const sign = () => (self.frozen ? () => undefined : life.heartbeatSent());
  const node = site.node({ url: proxy.url, name, onEpoch: (epoch) => started(epoch), sign });
  const { store } = node;
  const connect = new Map<string, number>();
  const held = new Map<string, number>();
  let generation = 0;
  const key = (kind: LeaseKind, subject: number) => `${kind} ${subject}`;
  const add = (map: Map<string, number>, of: string, by: number) => map.set(of, (map.get(of) ?? 0) + by);
  const free = (of: string): number => (connect.get(of) ?? 0) - (held.get(of) ?? 0);
  const others = () => peers.filter((peer) => peer.name !== name);
  // As NOTIFY does: after a while, and not to frozen nodes.
  const wire = (peer: ClusterNode, work: () => void) =>
    setTimeout(() => {
      if (!peer.frozen) work();
    }, 1);

  const leases = new Leases({
    leaseStore: {
      raise: (kind, subject, amount) => void add(connect, key(kind, subject), amount),
      takeIdle(kind, subject) {
        const amount = Math.max(0, free(key(kind, subject)));
        add(connect, key(kind, subject), -amount);
        return amount;
      },
      drop() {
        generation++;
        connect.clear();
        held.clear();
      },
    },
    move: (moves, epoch) => store.move(moves, epoch),
    isUncertain: (error) => store.isUncertain(error),
    recall(account, token, _holders, mark) {
      const by = store.epoch();
      for (const peer of others()) wire(peer, () => peer.leases.recalled(account, token, by, mark));
    },
    answer(account, to, mark) {
      const epoch = store.epoch();
      for (const peer of others())
        if (peer.node.store.epoch() === to) wire(peer, () => peer.leases.onResponse(account, epoch, mark));
    },
    nodes: () => peers.length,
    unavailable: () => store.unavailable(),
    now: () => performance.now(),
    after: (ms, work) => void setTimeout(work, ms),
  });
  const started = (epoch: number) => {
    life.ended();
    leases.begin(epoch);
    life.start(epoch);
  };
  const engine = new LedgerEngine({
    store: {
      probe: () => store.probe(),
      isInvalidCommand: (error) => store.isInvalidCommand(error),
      isUncertain: (error) => store.isUncertain(error),
      reasonOf: (error) => store.reasonOf(error),
      async apply(commands) {
        const epoch = store.epoch();
        const outcome = await store.apply(commands);
        if (store.epoch() === epoch) leases.settled(outcome.unspent);
        return outcome;
      },
    },
    onBalance: () => undefined,
    onHealth: () => undefined,
  });
  const submit = (command: Parameters<Engine['submit']>[0]): Promise<LedgerResult> =>
    new Promise((resolve, reject) => {
      engine.submit(command, (result) => (result instanceof Error ? reject(result) : resolve(result)));
    });

  const open: OpenRequest[] = [];
  const self: ClusterNode = {
    name,
    leases,
    engine,
    proxy,
    node,
    open,
    ahead,
    frozen: false,
    async admit(ref, account, amount, use = 0) {
      const of = key('account', account);
      let epoch = 0;
      const answer = await leases.request({
        account,
        token: 0,
        need: amount,
        use,
        missing: () => ({ account: Math.max(0, amount - free(of)), token: 0 }),
        reserve() {
          if (!life.isValid() || free(of) < amount) return false;
          add(held, of, amount);
          epoch = store.epoch();
          open.push({ ref, account, amount, generation, epoch });
          return true;
        },
      });
      if (answer === 'granted') await submit({ ...reserve(ref, account, 1), estimate: amount, epoch });
      return answer;
    },
    end(request, charged) {
      open.splice(open.indexOf(request), 1);
      const of = key('account', request.account);
      if (request.generation === generation) {
        add(connect, of, -charged);
        add(held, of, -request.amount);
      }
      return submit({ ...settle(request.ref, request.account, charged), epoch: request.epoch });
    },
    beat: () => store.probe(),
    rest: (account) => leases.idle('account', account),
    reachOf: (account) => connect.get(key('account', account)) ?? 0,
  };
  return self;
}
