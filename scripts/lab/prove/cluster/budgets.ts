/**
 * Budgets of each kind of holder while nodes die, stand still and lose their database: `prove cluster --only budgets [--seed N] [--full]`.
 * Clients ask all the time at the edge of what is left, which is raised now and then. Of no budget more is used than it has, but for
 * requests that a node had open when it was lost for longer than its leases live: their answers are paid for, as those of balances are.
 */
import type { BudgetHolder } from '../../../../server/contract/budgets.ts';
import type { Goal } from '../../bench/goal.ts';
import { maxGoal, minGoal } from '../site.ts';
import { auditOf, goalsOf, summaryOf } from './accounts.ts';
import { injectFaults } from './failures.ts';
import type { PartOrder } from './load.ts';
import { type Account, call } from './people.ts';
import { createRandom } from './random.ts';
import { type Cluster, openCluster } from './site.ts';
import { askOnce, type CallResult, isForMoney } from './traffic.ts';

const balance = 10_000_000_000;
/** Whoever has a budget of his own; those of the group and of the site are shared by all of them. */
const own = ['token', 'user', 'label', 'end_user'] as const;
const shared = ['group', 'site'] as const;
const clients = 3;
/** Requests that a raise pays for. */
const step = 40;
const label = 'bounded';
const raiseMs = 6000;
const question = { content: 'question' };

interface Bounded {
  readonly holder: BudgetHolder;
  readonly subject: string;
  /** Whose requests count in it. */
  readonly accounts: readonly Account[];
  amount: number;
}

/** Administrators alone label keys, each his own. */
async function labelKey({ balancer, root }: Cluster, { id, tokenId, headers }: Account): Promise<void> {
  const promoted = await call(`${balancer.url}/api/user/manage`, 'POST', root.headers, { id, action: 'promote' });
  if (!promoted.success) throw new Error(promoted.message ?? 'no administrator');
  const labelled = await call(`${balancer.url}/api/token/`, 'PUT', headers, { id: tokenId, labels: label });
  if (!labelled.success) throw new Error(labelled.message ?? 'no label');
}

async function setAmount({ balancer, root }: Cluster, { holder, subject, amount }: Bounded): Promise<boolean> {
  const order = { holder, window: 'total', unit: 'money', amount, ...(subject === '' ? {} : { subject }) };
  const answer = await call(`${balancer.url}/api/budget/`, 'PUT', root.headers, order).catch(() => null);
  return answer?.success === true;
}

/** By the books: it agrees with what is kept of the budget, or `ledger verify` says so. */
async function spentBy(cluster: Cluster, accounts: readonly Account[]): Promise<number> {
  const [row] = await cluster.query<{ amount: number }>(
    `SELECT coalesce(sum(CASE WHEN credit = -2 THEN amount ELSE -amount END), 0) AS amount FROM postings
      WHERE (credit = -2 AND debit = ANY($1)) OR (debit = -2 AND credit = ANY($1))`,
    [accounts.map(({ id }) => id)],
  );
  return row?.amount ?? 0;
}

export async function budgets({ seed, full }: PartOrder): Promise<readonly Goal[]> {
  const cluster = await openCluster({
    accounts: own.map((name) => ({ name, balance })),
    serveFlags: ['--relays', '2'],
  });
  try {
    const { accounts, balancer } = cluster;
    const named = (name: string): Account => {
      const found = accounts.find((account) => account.name === name);
      if (found === undefined) throw new Error(`no account ${name}`);
      return found;
    };
    await labelKey(cluster, named('label'));
    const first = await askOnce(balancer.url, named('user'), question);
    const { max, cost } = first;
    const bounded: Bounded[] = [
      ...own.map((holder): Bounded => {
        const account = named(holder);
        const subject = holder === 'user' ? account.id : holder === 'label' ? label : account.tokenId;
        return { holder, subject: String(subject), accounts: [account], amount: step * max };
      }),
      ...shared.map((holder, at): Bounded => {
        const amount = Math.floor((3.6 - 0.1 * at) * step * max);
        return { holder, subject: holder === 'site' ? '' : 'default', accounts, amount };
      }),
    ];
    for (const one of bounded) if (!(await setAmount(cluster, one))) throw new Error(`no budget of ${one.holder}`);
    await Bun.sleep(1000);
    const results: CallResult[] = [first];
    let over = false;
    const random = createRandom(seed);
    const going = accounts.flatMap((account) =>
      Array.from({ length: clients }, async () => {
        while (!over) {
          results.push(await askOnce(balancer.url, account, { ...question, stream: random.share() < 0.3 }));
          await Bun.sleep(random.whole(0, 80));
        }
      }),
    );
    let raises = 0;
    const raising = (async () => {
      while (!over) {
        await Bun.sleep(raiseMs);
        for (const one of bounded) {
          one.amount += (shared as readonly string[]).includes(one.holder) ? 3 * step * max : step * max;
          // What was not confirmed may hold all the same.
          await setAmount(cluster, one);
        }
        raises++;
      }
    })();
    const counts = full
      ? { kill: 20, restart: 6, freezeNode: 12, freezeDatabase: 6 }
      : { kill: 4, restart: 2, freezeNode: 3, freezeDatabase: 2 };
    const { done } = await injectFaults(cluster, { counts, random: createRandom(seed + 1), pauseSeconds: [3, 20] });
    over = true;
    await raising;
    await Promise.all(going);
    // With the amounts known to all again, what is left is spent.
    for (const one of bounded) await setAmount(cluster, one);
    await Bun.sleep(45_000);
    const isRefused = ({ code }: CallResult) => /^budget_/.test(code);
    await Promise.all(
      accounts.map(async (account) => {
        for (let refused = 0, asked = 0; refused < 2 * cluster.nodes.length && asked < 2000; asked++) {
          const one = await askOnce(balancer.url, account, question);
          results.push(one);
          refused = isRefused(one) ? refused + 1 : 0;
        }
      }),
    );
    const audit = await auditOf(cluster, results, []);
    console.log(
      `budgets: seed ${seed}, ${done} faults, ${raises} raises, ${results.length} requests: ${summaryOf(results)}`,
    );
    const goals: Goal[] = [
      minGoal('budgets: answers seen whole', results.filter(({ whole }) => whole).length, step, ''),
      ...goalsOf(
        'budgets',
        audit,
        results.filter((one) => isForMoney(one)).map(({ words }) => words),
      ),
    ];
    for (const { holder, accounts: whose, amount } of bounded) {
      const spent = await spentBy(cluster, whose);
      // Each node that was lost may have had as many open as there are clients.
      const promised = done * clients * whose.length * max;
      console.log(
        `budgets: ${holder}: ${spent} of ${amount} spent, left ${amount - spent}; a request costs ${cost} and holds up to ${max}; promised beyond it at most ${promised}`,
      );
      goals.push(maxGoal(`budgets: ${holder}: spent beyond it`, Math.max(0, spent - amount), promised, ''));
    }
    return goals;
  } catch (error) {
    for (const node of cluster.nodes) console.log(`${node.name}: ${node.output().slice(-2000)}`);
    throw error;
  } finally {
    await cluster.close();
  }
}
