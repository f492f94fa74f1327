/** Online top-up: orders, what the payment providers reported, crediting by hand. */
import { type CommandRun, text } from '../../command.ts';
import { isoTime } from '../../output.ts';
import { moneyOf } from '../../parts/money.ts';
import { wholeNumber } from '../../parts/numbers.ts';

const defaultRows = 20;

export const list: CommandRun = async (context, flags) => {
  const { items } = await (await context.client()).call('wallet.orders', {
    p: 1,
    page_size: wholeNumber(text(flags.limit), '--limit') ?? defaultRows,
    status: text(flags.status),
  });
  const money = await moneyOf(context);
  context.output.list(
    items,
    [
      { name: 'order', value: (row) => row.trade_no },
      { name: 'user', value: (row) => String(row.user_id), right: true },
      { name: 'method', value: (row) => row.payment_method },
      money.column('quota', (row) => row.quota),
      { name: 'money', value: (row) => `${row.money} ${row.currency}`, right: true },
      { name: 'status', value: (row) => row.status },
      { name: 'opened', value: (row) => isoTime(row.create_time) },
      { name: 'paid', value: (row) => isoTime(row.complete_time) },
    ],
    (row) => row.trade_no,
  );
};

export const callbacks: CommandRun = async (context, flags) => {
  const { items } = await (await context.client()).call('wallet.callbacks', {
    p: 1,
    page_size: wholeNumber(text(flags.limit), '--limit') ?? defaultRows,
    outcome: text(flags.outcome),
  });
  context.output.list(
    items,
    [
      { name: 'id', value: (row) => String(row.id), right: true },
      { name: 'time', value: (row) => isoTime(row.received_time) },
      { name: 'from', value: (row) => row.source },
      { name: 'order', value: (row) => row.trade_no },
      { name: 'outcome', value: (row) => row.outcome },
    ],
    (row) => String(row.id),
  );
};

export const complete: CommandRun = async (context, _flags, tradeNo) => {
  await context.confirm(context.say(`将订单 ${tradeNo} 视为已支付并入账？`, `Credit order ${tradeNo} as paid?`));
  const order = await (await context.client()).call('wallet.complete', { trade_no: tradeNo });
  context.output.object(
    order,
    [`${order.trade_no} ${order.status} ${(await moneyOf(context)).of(order.quota)}`],
    order.trade_no,
  );
};
