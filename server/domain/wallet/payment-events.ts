/** The inbox of payment callbacks: each is kept before anything else happens, and each paid order is credited exactly once. Only callbacks whose signature fits come here. */

import type { CallbackRow, createTopUpsRepository, TopUpRow } from '../../../db/repositories/top-ups.ts';
import { type Ledger, topUpRef } from '../../billing/ledger/commands.ts';
import { LogType } from '../../contract/enum.ts';
import { storedText } from '../../contract/stored-texts.ts';
import type { AffiliateService } from '../affiliate/service.ts';
import type { InvoicesService } from '../invoices/service.ts';
import { eventLog, quotaWords } from '../logs/event.ts';
import type { OptionsService } from '../options/service.ts';
import type { UsersService } from '../users/service.ts';
import { moneyText } from './quote.ts';
import { minorUnits } from './stripe.ts';

/** What a payment provider says happened. */
export interface PaymentEvent {
  readonly source: 'epay' | 'stripe';
  /** Unique with this source. */
  readonly eventId: string;
  readonly tradeNo: string;
  readonly paid: boolean;
  /** Smallest units of `currency`. */
  readonly money: number;
  readonly currency: string;
  /** As received, for people. */
  readonly body: string;
}

/** `duplicate`: the order had been paid by another payment. `ignored`: not news of a payment. */
export type CallbackOutcome = 'new' | 'credited' | 'duplicate' | 'unmatched' | 'mismatch' | 'ignored';

const maxStoredBody = 2048;

export function createInbox(deps: {
  readonly repository: ReturnType<typeof createTopUpsRepository>;
  readonly ledger: Ledger;
  readonly options: OptionsService;
  readonly users: UsersService;
  readonly affiliate: Pick<AffiliateService, 'toppedUp'>;
  readonly invoices: Pick<InvoicesService, 'draft'>;
  /** Epoch seconds. */
  readonly seconds: () => number;
}) {
  const { repository, ledger, options } = deps;

  /** Credits a paid order. @param callbackId 0 = by hand. */
  const credit = async (order: TopUpRow, callbackId: number): Promise<CallbackOutcome> => {
    const user = await deps.users.find(order.user_id);
    if (user === undefined) return 'unmatched';
    const at = deps.seconds();
    const invoice = await deps.invoices.draft(order, user, at);
    const paid = moneyText(order.money, minorUnits(order.currency));
    const result = await ledger.execute({
      type: 'topup',
      ref: topUpRef(order.trade_no),
      tradeNo: order.trade_no,
      userId: order.user_id,
      amount: order.quota,
      callbackId,
      at,
      ...(invoice === undefined ? {} : { invoice }),
      log: eventLog({
        type: LogType.topup,
        at,
        user,
        content: storedText('toppedUp', { quota: quotaWords(options, order.quota), paid }),
        other: { trade_no: order.trade_no, quota: order.quota, money: paid, currency: order.currency },
      }),
    });
    // Also where it was credited before: the process may have ended in between.
    if (result.status === 'done' || result.status === 'duplicate') await deps.affiliate.toppedUp(user.id);
    if (result.status === 'done') return 'credited';
    return result.status === 'refused' && result.reason !== 'closed' ? 'mismatch' : 'duplicate';
  };

  const judge = async (row: CallbackRow, news: Kept): Promise<CallbackOutcome> => {
    if (!news.paid) return 'ignored';
    const order = await repository.find(row.trade_no);
    if (order === undefined) return 'unmatched';
    const matches =
      order.method.startsWith(row.source) && order.money === news.money && order.currency === news.currency;
    return matches ? credit(order, row.id) : 'mismatch';
  };

  const work = async (row: CallbackRow): Promise<CallbackOutcome> => {
    const outcome = await judge(row, JSON.parse(row.facts) as Kept);
    // A credit has closed the callback together with the posting.
    if (outcome !== 'credited') await repository.finish(row.id, outcome);
    return outcome;
  };

  return {
    credit,
    /** @returns what became of it, also when it came before. @throws AppError storage_unavailable: it is kept and worked on later. */
    async receive(news: PaymentEvent): Promise<CallbackOutcome> {
      const { source, eventId, tradeNo, paid, money, currency, body } = news;
      const row = await repository.receive({
        source,
        event_id: eventId,
        trade_no: tradeNo,
        received_at: deps.seconds(),
        facts: JSON.stringify({ paid, money, currency } satisfies Kept),
        body: body.slice(0, maxStoredBody),
      });
      return row.outcome === 'new' ? work(row) : (row.outcome as CallbackOutcome);
    },
    /** Works on what was kept but not concluded, after a crash or a full disk. */
    async resume(): Promise<void> {
      for (const row of await repository.pending()) await work(row);
    },
  };
}

interface Kept {
  readonly paid: boolean;
  readonly money: number;
  readonly currency: string;
}
