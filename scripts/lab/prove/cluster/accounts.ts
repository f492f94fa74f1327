/** Compares what clients received with the ledger. */

import { postgresStats } from '../../../../db/ledger/postgres/stats.ts';
import { openDatabase } from '../../../../db/open.ts';
import { reportsOf } from '../../../../server/billing/ledger/verify.ts';
import type { Goal } from '../../bench/goal.ts';
import { maxGoal } from '../site.ts';
import type { Cluster } from './site.ts';
import type { CallResult, Credit } from './traffic.ts';

export interface Audit {
  readonly count: number;
  readonly lost: readonly string[];
  readonly duplicates: readonly string[];
  readonly wrong: readonly string[];
  readonly creditsLost: readonly string[];
  readonly creditDuplicates: readonly string[];
  readonly belowZero: number;
  /** Quota that `overrun` has paid. */
  readonly overrun: number;
  readonly openHolds: number;
  /** Invariants that do not hold. */
  readonly violations: readonly string[];
}

const revenue = -2;
const settleMs = 90_000;

interface Charge {
  readonly ref: string;
  /** What was asked in the end. */
  readonly amount: number;
  readonly rows: number;
}

/** A correction bears the name of what it corrects. */
const postingsQuery = `SELECT split_part(ref, '#', 1) AS ref,
    sum(CASE WHEN credit = ${revenue} THEN amount ELSE -amount END) AS amount,
    count(*) FILTER (WHERE kind = 'settle' AND ref NOT LIKE '%#%') AS rows
  FROM postings WHERE credit = ${revenue} OR debit = ${revenue} GROUP BY 1`;

const violationsOf = async (url: string): Promise<string[]> => {
  const database = await openDatabase({ engine: 'postgres', url });
  try {
    return reportsOf(await postgresStats(database))
      .filter(({ violations }) => violations > 0)
      .map((report) => JSON.stringify(report).slice(0, 600));
  } finally {
    await database.close();
  }
};

async function one(cluster: Cluster, results: readonly CallResult[], credits: readonly Credit[]): Promise<Audit> {
  const charges = new Map((await cluster.query<Charge>(postingsQuery)).map((row) => [row.ref, row]));
  const rows = new Map(
    (
      await cluster.query<{ ref: string; quota: number; n: number }>(
        'SELECT request_id AS ref, sum(quota) AS quota, count(*) AS n FROM logs WHERE type = 2 GROUP BY 1',
      )
    ).map((row) => [row.ref, row]),
  );
  const lost: string[] = [];
  const duplicates: string[] = [];
  const wrong: string[] = [];
  for (const { ref, whole, cost, max } of results) {
    if (ref === '') continue;
    const charged = charges.get(ref);
    const row = rows.get(ref);
    if (whole && (charged === undefined || row === undefined)) lost.push(ref);
    if ((charged?.rows ?? 0) > 1 || (row?.n ?? 0) > 1 || (whole && (charged?.amount ?? 0) > cost)) duplicates.push(ref);
    else if (whole && charged !== undefined && (charged.amount !== cost || row?.quota !== cost))
      wrong.push(`${ref}: ${charged.amount}, log ${row?.quota}, received ${cost}`);
    else if (!whole && (charged?.amount ?? 0) > max) wrong.push(`${ref}: ${charged?.amount} of ${max}`);
  }
  const credited = new Map<string, number>();
  for (const { account, amount } of await cluster.query<{ account: number; amount: number }>(
    "SELECT credit AS account, sum(amount) AS amount FROM postings WHERE kind = 'redeem' GROUP BY 1",
  ))
    credited.set(String(account), amount);
  const creditsLost: string[] = [];
  const creditDuplicates: string[] = [];
  for (const account of new Set(credits.map((credit) => credit.account))) {
    const own = credits.filter((credit) => credit.account === account);
    const sum = (list: readonly Credit[]) => list.reduce((all, { quota }) => all + quota, 0);
    const posted = credited.get(String(account.id)) ?? 0;
    const confirmed = sum(own.filter(({ confirmedAt }) => Number.isFinite(confirmedAt)));
    if (posted < confirmed) creditsLost.push(`${account.name}: ${posted} of ${confirmed}`);
    if (posted > sum(own)) creditDuplicates.push(`${account.name}: ${posted} of ${sum(own)}`);
  }
  const count = async (text: string) => (await cluster.query<{ n: number }>(text))[0]?.n ?? 0;
  return {
    count: charges.size,
    lost,
    duplicates,
    wrong,
    creditsLost,
    creditDuplicates,
    belowZero: await count('SELECT count(*) AS n FROM accounts WHERE id > 0 AND balance < 0'),
    overrun: await count(`SELECT coalesce(sum(amount), 0) AS n FROM postings WHERE kind = 'overrun'`),
    openHolds: await count('SELECT count(*) AS n FROM holds'),
    violations: await violationsOf(cluster.url),
  };
}

const isClean = (audit: Audit): boolean =>
  audit.lost.length + audit.wrong.length + audit.creditsLost.length + audit.violations.length === 0;

/** What lies in an outbox needs a while to arrive. */
export async function auditOf(
  cluster: Cluster,
  results: readonly CallResult[],
  credits: readonly Credit[],
): Promise<Audit> {
  for (const over = performance.now() + settleMs; ; ) {
    const audit = await one(cluster, results, credits);
    if (isClean(audit) || performance.now() > over) return audit;
    await Bun.sleep(2000);
  }
}

/** How often each answer was given. */
export const summaryOf = (results: readonly CallResult[]): string => {
  const counts = new Map<string, number>();
  for (const { status, whole, code, left } of results) {
    const name = whole
      ? 'whole'
      : left && status % 200 === 0
        ? 'left'
        : status === 0
          ? 'broken'
          : `${status} ${code}`.trim();
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return [...counts]
    .sort(([, one], [, other]) => other - one)
    .map(([name, count]) => `${name} x${count}`)
    .join(', ');
};

const firstOf = (list: readonly string[]): string => list.slice(0, 5).join('; ');

export function goalsOf(name: string, audit: Audit, unexpected: readonly string[]): Goal[] {
  for (const [what, list] of Object.entries({ ...audit, unexpected }))
    if (Array.isArray(list) && list.length > 0) console.log(`${name}: ${what}: ${firstOf(list)}`);
  console.log(`${name}: ${audit.count} charges in the books, ${audit.openHolds} requests of lost nodes still open`);
  const zero = (what: string, list: number) => maxGoal(`${name}: ${what}`, list, 0, '');
  return [
    zero('charges lost', audit.lost.length),
    zero('charges doubled', audit.duplicates.length),
    zero('charges of another amount', audit.wrong.length),
    zero('credits lost or doubled', audit.creditsLost.length + audit.creditDuplicates.length),
    zero('balances below zero', audit.belowZero),
    zero('quota paid by overrun', audit.overrun),
    zero('refused wrongly', unexpected.length),
    zero('invariants broken', audit.violations.length),
  ];
}
