/**
 * Three nodes through the kinds of trouble that nights bring, one alone or two at once, drawn from the seed: `prove cluster
 * --only nights --minutes 10 --seed N`. Chats, drawings and conversations go on meanwhile; a synchronous standby takes over
 * when the database dies, or a copy that lacks the last seconds. Ends with what was lost, doubled, below zero or wrongly refused.
 */
import { fileURLToPath } from 'node:url';
import { Client } from 'pg';
import { type Replica, startReplica } from '../../../servers/replica.ts';
import type { Goal } from '../../bench/goal.ts';
import { maxGoal, minGoal } from '../site.ts';
import { auditOf, goalsOf, summaryOf } from './accounts.ts';
import { beginAgain, pauseDatabase, processesOf, signalAll } from './failures.ts';
import type { LinkState } from './link.ts';
import type { PartOrder } from './load.ts';
import {
  conversationModel,
  drawingPrice,
  type Expected,
  startConversations,
  startDrawings,
  startOtherWork,
} from './other-work.ts';
import { createRandom, type Random } from './random.ts';
import { ask, type Cluster, openCluster, until } from './site.ts';
import { startTraffic } from './traffic.ts';

const richBalance = 10_000_000_000;
const poorBalance = 200_000;
const codeQuota = 150_000;
const pairShare = 0.4;
const recoveryMs = 120_000;
const refusedShare = 0.001;

const people = [
  ...Array.from({ length: 3 }, (_, n) => ({ name: `rich${n}`, balance: richBalance })),
  ...Array.from({ length: 2 }, (_, n) => ({ name: `limited${n}`, balance: richBalance, limit: richBalance / 2 })),
  ...Array.from({ length: 3 }, (_, n) => ({ name: `poor${n}`, balance: poorBalance })),
  ...['drawer', 'talker0', 'talker1'].map((name) => ({ name, balance: richBalance })),
];

/** What two faults at once must not share. */
type Part = 'node' | 'nodes' | 'link' | 'database' | 'standby' | 'redis' | 'all';

interface Fault {
  readonly name: string;
  readonly part: Part;
  run(): Promise<void>;
}

/** The copy that every commit waits for. */
class Standby {
  replica: Replica;

  private constructor(
    private readonly cluster: Cluster,
    first: Replica,
  ) {
    this.replica = first;
  }

  static async follow(cluster: Cluster): Promise<Standby> {
    const standby = new Standby(cluster, await startReplica(cluster.database));
    await standby.waitFor();
    return standby;
  }

  /** It is asked for only when it is there: commits would wait for nobody. */
  private async waitFor(): Promise<void> {
    const { url } = this.cluster.database;
    await until(async () => (await ask(url, 'SELECT 1 FROM pg_stat_replication')).length > 0, recoveryMs);
    await ask(url, "ALTER SYSTEM SET synchronous_standby_names = '*'");
    await ask(url, 'SELECT pg_reload_conf()');
  }

  takeOver = async (): Promise<void> => {
    this.cluster.database.stop('immediate');
    await this.replica.detach();
    await this.rise();
  };

  /** As after an hour in which nobody noticed that it had stopped following. @param meanwhile what it lacks. */
  async takeOverOlder(meanwhile: () => Promise<void>): Promise<void> {
    const { url } = this.cluster.database;
    await ask(url, 'ALTER SYSTEM RESET synchronous_standby_names');
    await ask(url, 'SELECT pg_reload_conf()');
    await this.replica.detach();
    await meanwhile();
    this.cluster.database.stop('immediate');
    await this.rise();
  }

  private async rise(): Promise<void> {
    await this.replica.takeOver();
    this.replica = await startReplica(this.cluster.database);
    await this.waitFor();
  }
}

function faultsOf(cluster: Cluster, standby: Standby, random: Random): readonly Fault[] {
  const { nodes, database } = cluster;
  const busy = new Set<number>();
  const seconds = (from: number, to: number) => Bun.sleep(random.whole(from * 1000, to * 1000));
  /** A node that no other fault has at the moment. */
  const withNode = async (work: (index: number) => Promise<void>) => {
    const index = random.pick(nodes.map((_, n) => n).filter((n) => !busy.has(n)));
    busy.add(index);
    try {
      await work(index);
    } finally {
      busy.delete(index);
    }
  };
  const again = async (index: number) => {
    await seconds(0, 1.5);
    await beginAgain(cluster, index);
  };
  const kill = async (index: number) => {
    await nodes[index]?.kill();
    await again(index);
  };
  const signal = (index: number, name: NodeJS.Signals) => nodes[index]?.signal(name);
  const link = (state: LinkState, from: number, to: number) => () =>
    withNode(async (index) => {
      nodes[index]?.link?.set(state);
      await seconds(from, to);
      nodes[index]?.link?.set('open');
    });
  const asked = (text: string) => cluster.query(text).catch(() => []);
  const ofNode = (name: string, run: (index: number) => Promise<void>): Fault => ({
    ...{ name, part: 'node' },
    run: () => withNode(run),
  });
  return [
    ofNode('killed', kill),
    ofNode('killed while it starts', async (index) => {
      await nodes[index]?.kill();
      const starting = nodes[index]?.begin().catch(() => undefined);
      await seconds(0.2, 1.2);
      await nodes[index]?.kill();
      await starting;
      await again(index);
    }),
    ofNode('stopped', async (index) => {
      await nodes[index]?.stop();
      await again(index);
    }),
    ofNode('frozen', async (index) => {
      signal(index, 'SIGSTOP');
      await seconds(2, 12);
      signal(index, 'SIGCONT');
    }),
    ofNode('relay thread ended', async (index) => {
      signal(index, 'SIGUSR2');
      await seconds(1, 3);
    }),
    ofNode('outbox full', async (index) => {
      nodes[index]?.fill(true);
      await seconds(2, 8);
      nodes[index]?.fill(false);
    }),
    ofNode('outbox full and killed', async (index) => {
      nodes[index]?.fill(true);
      await seconds(1, 3);
      await nodes[index]?.kill();
      nodes[index]?.fill(false);
      await again(index);
    }),
    {
      ...{ name: 'two killed', part: 'nodes' },
      run: () => Promise.all([withNode(kill), withNode(kill)]).then(() => undefined),
    },
    {
      ...{ name: 'all killed', part: 'nodes' },
      run: () => Promise.all(nodes.map(() => withNode(kill))).then(() => undefined),
    },
    { ...{ name: 'link is a hole', part: 'link' }, run: link('hole', 2, 15) },
    { ...{ name: 'link loses answers', part: 'link' }, run: link('half', 2, 10) },
    { ...{ name: 'link is slow', part: 'link' }, run: link('slow', 3, 8) },
    { ...{ name: 'link is cut', part: 'link' }, run: link('closed', 0.2, 5) },
    ...(['before', 'after'] as const).flatMap((moment): Fault[] => [
      {
        ...{ name: `link is cut ${moment} COMMIT`, part: 'link' },
        run: () => withNode(async (index) => nodes[index]?.link?.cutAtCommit(moment)),
      },
      ofNode(`killed ${moment} COMMIT`, async (index) => {
        await nodes[index]?.link?.cutAtCommit(moment);
        await kill(index);
      }),
    ]),
    ofNode('clock wrong', async (index) => {
      nodes[index]?.setClock(random.pick([-300_000, -20_000, 20_000, 300_000]));
      await seconds(2, 8);
      nodes[index]?.setClock(0);
    }),
    { ...{ name: 'database starts anew', part: 'database' }, run: () => database.restart() },
    {
      ...{ name: 'database away', part: 'database' },
      async run() {
        database.stop('immediate');
        await seconds(2, 10);
        database.start();
      },
    },
    {
      ...{ name: 'database frozen', part: 'database' },
      run: () => pauseDatabase(cluster, random.whole(2000, 10_000)),
    },
    {
      ...{ name: 'one backend frozen', part: 'database' },
      async run() {
        const rows = await cluster.query<{ pid: number }>(
          "SELECT pid FROM pg_stat_activity WHERE datname = 'site' AND pid <> pg_backend_pid() ORDER BY pid",
        );
        if (rows.length === 0) return;
        const { pid } = random.pick(rows);
        signalAll([pid], 'SIGSTOP');
        await seconds(2, 8);
        signalAll([pid], 'SIGCONT');
      },
    },
    {
      ...{ name: 'accounts locked', part: 'database' },
      async run() {
        await asked(
          `BEGIN; LOCK TABLE accounts IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(${random.whole(1, 4)}); ROLLBACK`,
        );
      },
    },
    {
      ...{ name: 'connections ended', part: 'database' },
      async run() {
        await asked(
          "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'site' AND pid <> pg_backend_pid()",
        );
      },
    },
    {
      ...{ name: 'no connection left', part: 'database' },
      async run() {
        const held: Client[] = [];
        for (let refused = false; !refused; ) {
          const client = new Client({ connectionString: database.url, connectionTimeoutMillis: 2000 });
          client.on('error', () => undefined);
          refused = await client.connect().then(
            () => false,
            () => true,
          );
          held.push(client);
        }
        await asked(
          "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'site' AND pid <> pg_backend_pid()",
        );
        await seconds(2, 6);
        await Promise.all(held.map((client) => client.end().catch(() => undefined)));
      },
    },
    { ...{ name: 'standby takes over', part: 'database' }, run: standby.takeOver },
    {
      ...{ name: 'older copy takes over', part: 'database' },
      run: () => standby.takeOverOlder(() => seconds(1, 2.5)),
    },
    // The disk of a node takes what a failover may need just when there is one.
    {
      ...{ name: 'older copy takes over, outbox full', part: 'all' },
      run: () =>
        withNode(async (index) => {
          // A log that was folded back has room of its own for some hundred batches; a new one has none.
          await nodes[index]?.stop();
          await beginAgain(cluster, index);
          await standby.takeOverOlder(async () => {
            await seconds(0.5, 1);
            nodes[index]?.fill(true);
            await seconds(0.5, 1);
          });
          await seconds(2, 3);
          nodes[index]?.fill(false);
        }),
    },
    {
      ...{ name: 'older copy takes over, a node killed', part: 'all' },
      run: () =>
        withNode(async (index) => {
          await standby.takeOverOlder(() => seconds(1, 2));
          await seconds(0, 1);
          await kill(index);
        }),
    },
    {
      ...{ name: 'standby frozen', part: 'standby' },
      async run() {
        const all = processesOf(standby.replica.pid());
        signalAll(all, 'SIGSTOP');
        await seconds(1, 6);
        signalAll(all, 'SIGCONT');
      },
    },
    {
      ...{ name: 'Redis killed', part: 'redis' },
      async run() {
        await cluster.redis?.kill();
        await seconds(0, 5);
        await cluster.redis?.begin();
      },
    },
    { ...{ name: 'Redis emptied', part: 'redis' }, run: async () => cluster.redis?.flush() },
  ];
}

/** The standby belongs to the database, and a link to its node. */
const groupOf = (part: Part): string =>
  part === 'standby' ? 'database' : part === 'nodes' || part === 'link' ? 'node' : part;
/** Two faults of one node each take different nodes. */
const fitTogether = (one: Fault, other: Fault): boolean =>
  one !== other &&
  ![one, other].some(({ part }) => part === 'all') &&
  (groupOf(one.part) !== groupOf(other.part) ||
    (groupOf(one.part) === 'node' && one.part !== 'nodes' && other.part !== 'nodes'));

async function paid(cluster: Cluster, { account }: Expected): Promise<number> {
  const [row] = await cluster.query<{ amount: number }>(
    `SELECT coalesce(sum(CASE WHEN credit = -2 THEN amount ELSE -amount END), 0) AS amount FROM postings
      WHERE (debit = $1 AND credit = -2) OR (debit = -2 AND credit = $1)`,
    [account.id],
  );
  return row?.amount ?? 0;
}

export async function nights({ seed, minutes }: PartOrder): Promise<readonly Goal[]> {
  const random = createRandom(seed);
  const [drawn, spoken] = [startDrawings(), startConversations()];
  const cluster = await openCluster({
    accounts: people,
    codes: { count: Math.ceil(minutes * 60), quota: codeQuota },
    ...{ linked: true, diskBytes: 128, serveFlags: ['--relays', '2'], settings: 'max_connections = 100' },
    as: [process.execPath, fileURLToPath(new URL('./mortal.ts', import.meta.url))],
    more: [
      { type: 'openai', model: conversationModel, url: spoken.url },
      { type: 'midjourney', model: 'mj_imagine', url: drawn.url, price: drawingPrice },
    ],
  });
  try {
    const standby = await Standby.follow(cluster);
    const named = (name: string) => cluster.accounts.filter((account) => account.name.startsWith(name));
    const traffic = startTraffic({
      url: cluster.balancer.url,
      accounts: [...named('rich'), ...named('limited')],
      poor: named('poor'),
      ...{ codes: cluster.codes, codeQuota, random: createRandom(seed + 1) },
    });
    const [drawer] = named('drawer');
    if (drawer === undefined) throw new Error('nobody draws');
    const other = startOtherWork(cluster.balancer.url, drawer, named('talker'), createRandom(seed + 2));
    await Bun.sleep(3000);
    const faults = faultsOf(cluster, standby, random);
    const deck: Fault[] = [];
    const counts = new Map<string, number>();
    let pairs = 0;
    const isReady = () => cluster.balancer.ready().length === cluster.nodes.length;
    const ready = () => until(isReady, recoveryMs);
    for (const over = performance.now() + minutes * 60_000; performance.now() < over; ) {
      // Each kind comes before any comes again.
      if (deck.length === 0) deck.push(...random.shuffle(faults));
      const first = deck.pop() ?? random.pick(faults);
      const others = faults.filter((fault) => fitTogether(first, fault));
      const second = others.length > 0 && random.share() < pairShare ? random.pick(others) : null;
      const both = second === null ? [first] : [first, second];
      if (second !== null) pairs++;
      for (const { name } of both) counts.set(name, (counts.get(name) ?? 0) + 1);
      console.log(`nights: ${both.map(({ name }) => name).join(' + ')}`);
      await Promise.all(both.map((fault) => fault.run()));
      // The next may come before all is well again.
      if (random.share() < 0.7) await ready();
      await Bun.sleep(random.whole(500, 2500));
    }
    await ready();
    await Bun.sleep(5000);
    await Promise.all([traffic.stop(), other.stop()]);
    const audit = await auditOf(cluster, traffic.results, traffic.credits);
    const whole = traffic.results.filter((one) => one.whole).length;
    const done = [...counts.values()].reduce((sum, count) => sum + count, 0);
    console.log(
      `nights: ${done} faults of ${counts.size} kinds, ${pairs} pairs: ${[...counts].map(([name, n]) => `${name} x${n}`).join(', ')}`,
    );
    const deaths = cluster.nodes.reduce(
      (sum, node) => sum + (node.output().match(/relay thread \d died/g)?.length ?? 0),
      0,
    );
    console.log(`nights: ${deaths} relay threads died`);
    console.log(`nights: ${traffic.results.length} chats: ${summaryOf(traffic.results)}`);
    const amounts = await Promise.all(other.expected.map((expected) => paid(cluster, expected)));
    const [tooLittle, tooMuch] = [0, 0].map((_, side) =>
      other.expected.filter(({ least, most }, n) => {
        const amount = amounts[n] ?? 0;
        return side === 0 ? amount < least : amount > most;
      }),
    ) as [Expected[], Expected[]];
    for (const [n, { what, account, least, most, whole: seen }] of other.expected.entries())
      console.log(
        `nights: ${what} of ${account.name}: ${seen} whole, paid ${amounts[n]}, at least ${least}, at most ${most}`,
      );
    // A node that was silent for longer than its leases last still has its answers paid for.
    const beyond = await cluster.query<{ ref: string; amount: number }>(
      "SELECT ref, amount FROM postings WHERE kind = 'overrun' ORDER BY ref",
    );
    console.log(
      `nights: overrun paid ${audit.overrun} in ${beyond.length} postings: ${JSON.stringify(beyond.slice(0, 5))}`,
    );
    const own = ['nights: refused wrongly', 'nights: quota paid by overrun'];
    const goals = goalsOf('nights', audit, traffic.unexpected);
    return [
      minGoal('nights: answers seen whole', whole, 100 * minutes, ''),
      ...goals.filter(({ name }) => !own.includes(name)),
      maxGoal(
        'nights: refused wrongly',
        traffic.unexpected.length / Math.max(1, traffic.results.length),
        refusedShare,
        '',
      ),
      maxGoal('nights: drawings and conversations lost', tooLittle.length, 0, ''),
      maxGoal('nights: drawings and conversations doubled', tooMuch.length, 0, ''),
    ];
  } catch (error) {
    for (const node of cluster.nodes) console.log(`${node.name}: ${node.output().slice(-2000)}`);
    throw error;
  } finally {
    await cluster.close();
    drawn.stop();
    void spoken.stop();
  }
}
