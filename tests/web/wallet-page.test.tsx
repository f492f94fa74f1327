/** The wallet: what is left and for how long, the ways to add to it, and the orders. */
import i18next from 'i18next';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { monthAt, monthRange } from '../../server/contract/statement.ts';
import { aroundPages, linksIn, reader, rendered } from './rendered.tsx';

/** 2026-11-11 00:00 UTC: ten days of the month are over. */
const now = Date.UTC(2026, 10, 11);
const self = { ...reader(1), quota: 5_000_000, used_quota: 9_000_000, request_count: 3 };
const order = {
  ...{ id: 1, trade_no: 'T1', payment_method: 'stripe', money: 5, currency: 'usd', quota: 2_500_000 },
  ...{ create_time: 1_795_000_000, status: 'success', refunded: '0.00', invoice: '' },
};

beforeEach(async () => {
  vi.useFakeTimers({ now });
  await aroundPages(reader(1));
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const wallet = async (charge: number, status: object = {}, invoice = ''): Promise<string> => {
  const { WalletPage } = await import('../../web/features/wallet/wallet-page.tsx');
  return rendered(<WalletPage />, {
    path: '/topup',
    answers: { self, invitation: 'Ab12', status: { quota_per_unit: 500_000, display_in_currency: true, ...status } },
    lists: [
      [['month-spend', monthRange(monthAt(now))?.from], { total: { charge } }],
      [['orders', 1, 20], { items: [{ ...order, invoice }], total: 1 }],
    ],
  });
};

test('the balance stands with how long it lasts at the month’s pace, with that month’s spend and with all that was used', async () => {
  const page = await wallet(1_000_000);
  expect(page).toMatch(
    /余额<.*\$10\.00<.*约可用 50 天<.*本月已用<.*\$2\.00<.*href="\/statement".*累计已用<.*\$18\.00</s,
  );
  expect(await wallet(0)).not.toContain('约可用');
  // At $0.000002 in ten days it would be thousands of years.
  const long = await wallet(1);
  expect(long).not.toContain('约可用');
  expect(long).toContain(i18next.t('wallet.lastsLong'));
});

test('the first hours of a month count as a day', async () => {
  const { daysLeft } = await import('../../web/features/wallet/balance.tsx');
  expect(daysLeft(1000, 100, 3600)).toBe(10);
  expect(daysLeft(-5, 100, 3600)).toBe(0);
});

test('the way to pay stands right behind the balance: a code where nothing else works', async () => {
  const order = (page: string) =>
    [...page.matchAll(/<section aria-label="([^"]*)"/g)].map(([, name]) => name).slice(0, 4);
  const page = await wallet(0);
  expect(order(page).slice(0, 3)).toEqual(['余额', '兑换码充值', '邀请好友']);
  expect(page).toContain('管理员未开启在线充值！');
  expect(page).toContain('https://site.example/register?aff=Ab12');
  const online = await wallet(0, { enable_online_topup: true });
  expect(order(online)).toEqual(['余额', '在线充值', '兑换码充值', '邀请好友']);
  expect(online).not.toContain('管理员未开启在线充值！');
  expect(linksIn(page)).toEqual(['/docs/zh/billing', '/statement']);
});

test.each([
  ['success', '$10.00'],
  ['pending', '<span class="text-ink-3">$10.00</span>'],
  ['expired', '<span class="text-ink-3">–</span>'],
])('an order that is %s shows as credited: %s', async (status, shown) => {
  const { orderColumns } = await import('../../web/features/orders/order-columns.tsx');
  const { DataTable } = await import('../../web/components/table/data-table.tsx');
  const money = (quota: number | undefined) => `$${((quota ?? 0) / 500_000).toFixed(2)}`;
  const columns = orderColumns({
    t: i18next.t,
    money,
    mayCredit: true,
    invoiced: false,
    onCredit: () => undefined,
    onRefund: () => undefined,
  });
  const list = { pending: false, failure: null };
  const row = {
    ...{ id: 1, user_id: 7, username: 'mira', trade_no: 'T1', payment_method: 'stripe', amount: 10, money: '5.00' },
    ...{ currency: 'usd', quota: 5_000_000, create_time: 1_795_000_000, complete_time: 0, status },
    ...{ refunded: '0.00', invoice: '' },
  };
  const page = rendered(<DataTable caption="x" rows={[row]} columns={columns} list={list} empty={null} />, {
    answers: { status: { quota_per_unit: 500_000, display_in_currency: true } },
  });
  expect(page).toContain(`${shown}</td>`);
  expect(page).toContain('<a href="/user/7">mira</a>');
  expect(page.includes(i18next.t('orders.complete'))).toBe(status !== 'success');
});

test('the figures of an order end its row, apart from its state', async () => {
  const heads = async (invoice: string) =>
    [...(await wallet(0, {}, invoice)).matchAll(/<th scope="col"[^>]*>([^<]*)/g)].map(([, head]) => head);
  expect(await heads('INV-2026-000001')).toEqual(['时间', '订单号', '方式', '发票', '状态', '支付金额', '到账额度']);
  // Where no order has an invoice there is no column of dashes.
  expect(await heads('')).toEqual(['时间', '订单号', '方式', '状态', '支付金额', '到账额度']);
});
