/** Checks the ledger's invariants against the database as it is. Source of the numbering: reliability reference 3.1. */

import type { LedgerStats } from '../ports.ts';

export interface InvariantReport {
  readonly id: string;
  readonly zh: string;
  readonly en: string;
  /** Number of checked things. */
  readonly checked: number;
  readonly violations: number;
  /** The first few, for people. */
  readonly examples: readonly string[];
  /** Findings that are no violation and yet worth reporting. */
  readonly note?: { readonly zh: string; readonly en: string };
}

interface Words {
  readonly zh: string;
  readonly en: string;
}

const report = (id: string, words: Words, checked: number, bad: readonly string[]): InvariantReport => ({
  id,
  ...words,
  checked,
  violations: bad.length,
  examples: bad.slice(0, 5),
});

/** I11, from a walk through the log. */
export const logReport = (checked: number, violations: number, examples: readonly string[]): InvariantReport => ({
  ...report(
    'I11',
    { zh: '由日志可重算出每笔费用', en: 'every charge can be recomputed from its log entry' },
    checked,
    examples,
  ),
  violations,
});

const leaseReports = ({ leases = 0, wrongLeases }: LedgerStats): InvariantReport[] =>
  wrongLeases === undefined
    ? []
    : [
        report(
          'I12',
          {
            zh: '租出额度等于各节点租约之和且不超过余额',
            en: 'what is leased = the leases of all nodes, within the balance',
          },
          leases,
          wrongLeases,
        ),
      ];

const budgetReports = ({ budgets = 0, wrongBudgets }: LedgerStats): InvariantReport[] =>
  wrongBudgets === undefined
    ? []
    : [
        report(
          'I13',
          {
            zh: '用户与站点的预算用量不超过其时段内的结算',
            en: 'no budget of a user or the site counts more than was settled in its window',
          },
          budgets,
          wrongBudgets,
        ),
      ];

/** I1 to I10, I13 where budgets are, and I12 where there are leases: sums over the ledger. */
export function reportsOf(stats: LedgerStats): InvariantReport[] {
  const { overrun } = stats;
  return [
    report(
      'I1',
      { zh: '每个账户余额等于其分录之和', en: 'each balance is the sum of its postings' },
      stats.accounts,
      stats.wrongBalances,
    ),
    report(
      'I2',
      { zh: '全部账户余额之和为零', en: 'all balances add up to zero' },
      stats.accounts,
      stats.total === 0 ? [] : [`sum ${stats.total}`],
    ),
    report(
      'I3',
      { zh: '每个请求至多结算一次', en: 'at most one settlement per request' },
      stats.postings,
      stats.duplicateRefs,
    ),
    report(
      'I4',
      { zh: '发放等于用户余额加已消费', en: 'granted = balances + spent' },
      stats.accounts,
      stats.conservation,
    ),
    report(
      'I5',
      { zh: '用户、令牌、渠道的已用额度等于结算之和', en: 'used quota of users, tokens and channels = settlements' },
      stats.counters,
      stats.wrongCounters,
    ),
    {
      ...report(
        'I6',
        {
          zh: '预扣额度不为负，余额不为负，未付超支等于其分录之和',
          en: 'no negative hold, no negative balance, unpaid overrun = its postings',
        },
        stats.accounts,
        stats.negative,
      ),
      ...(overrun.paid === 0
        ? {}
        : {
            note: {
              zh: `超支共 ${overrun.paid}，其中未付 ${overrun.open}`,
              en: `overrun ${overrun.paid} in all, ${overrun.open} not paid back`,
            },
          }),
    },
    report(
      'I7',
      { zh: '兑换码已用当且仅当有一条兑换分录', en: 'a code is used if and only if it was posted once' },
      stats.redemptions,
      stats.wrongRedemptions,
    ),
    report(
      'I8',
      {
        zh: '订单已付当且仅当有一条充值分录，累计充值不多于这些分录',
        en: 'an order is paid if and only if it was posted once, and no more counts as paid in',
      },
      stats.topUps,
      stats.wrongTopUps,
    ),
    report(
      'I9',
      { zh: '邀请划转不超过邀请所得', en: 'transfers do not exceed what was earned' },
      stats.users,
      stats.wrongTransfers,
    ),
    report(
      'I10',
      { zh: '金额为 1 到 10^15 的整数', en: 'every amount is an integer from 1 to 10^15' },
      stats.postings,
      stats.wrongAmounts,
    ),
    ...leaseReports(stats),
    ...budgetReports(stats),
    report(
      'I14',
      {
        zh: '发票与红字发票的编号每年连续且内容未变，一笔订单至多一张发票，退款不超过实付',
        en: 'invoices and credit notes are numbered without a gap in each year and are as they were made, an order has one at most, and no more is given back than was paid',
      },
      stats.invoices,
      stats.wrongInvoices,
    ),
  ];
}
