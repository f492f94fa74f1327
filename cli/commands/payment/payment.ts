/** Online top-up: orders, what the payment providers reported, crediting by hand. */
import { type CommandRun, text } from '../../command.ts';
import { listOf } from '../../parts/list-output.ts';
import { moneyOf } from '../../parts/money.ts';

export const list = listOf('wallet.orders', {
  columns: () => ({
    order: 'trade_no',
    user: 'user_id',
    method: 'payment_method',
    quota: 'quota',
    money: { value: (row) => `${row.money} ${row.currency}`, right: true },
    status: 'status',
    opened: 'create_time',
    paid: 'complete_time',
  }),
  key: 'trade_no',
  input: (flags) => ({ status: text(flags.status) }),
  limit: 20,
});

export const callbacks = listOf('wallet.callbacks', {
  columns: () => ({ id: 'id', time: 'received_time', from: 'source', order: 'trade_no', outcome: 'outcome' }),
  input: (flags) => ({ outcome: text(flags.outcome) }),
  limit: 20,
});

export const complete: CommandRun = async (context, _flags, tradeNo) => {
  await context.confirm(context.say(`将订单 ${tradeNo} 视为已支付并入账？`, `Credit order ${tradeNo} as paid?`));
  const order = await (await context.client()).call('wallet.complete', { trade_no: tradeNo });
  context.output.object(
    order,
    [`${order.trade_no} ${order.status} ${(await moneyOf(context)).of(order.quota)}`],
    order.trade_no,
  );
};

export const refund: CommandRun = async (context, flags, tradeNo) => {
  const money = text(flags.money);
  await context.confirm(
    context.say(
      `登记订单 ${tradeNo} 退款${money === undefined ? '' : ` ${money}`}并扣回额度？`,
      `Note a refund of ${money ?? 'all that is left'} of order ${tradeNo}, and take its quota back?`,
    ),
  );
  const order = await (await context.client()).call('wallet.refund', {
    ...{ trade_no: tradeNo, money },
    refunded: text(flags.refunded),
  });
  context.output.object(
    order,
    [
      context.say(
        `${order.trade_no} 已退款 ${order.refunded} / ${order.money} ${order.currency.toUpperCase()}`,
        `${order.trade_no} gave back ${order.refunded} of ${order.money} ${order.currency.toUpperCase()}`,
      ),
    ],
    order.trade_no,
  );
};
