/** Lists and the wallet: how long a page is, how money that is read alone looks, and that nothing is offered that cannot be used. */
import i18next from 'i18next';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { Column } from '../../web/components/table/column.ts';
import { aroundPages, reader, rendered } from './rendered.tsx';

beforeAll(() => aroundPages(reader(100)));
afterAll(() => vi.unstubAllGlobals());

const site = { quota_per_unit: 500_000, display_in_currency: true };
interface Row {
  readonly id: number;
  readonly spent: number;
}

const tableOf = async (columns: readonly Column<Row>[], rows: readonly Row[]): Promise<string> => {
  const { DataTable } = await import('../../web/components/table/data-table.tsx');
  return rendered(
    <DataTable caption="rows" rows={rows} columns={columns} list={{ pending: false, failure: null }} empty="" />,
    { answers: { status: site } },
  );
};

test('a page has twenty rows until the reader chooses, users ten, and the choice holds for every list', async () => {
  const { sizeIn } = await import('../../web/components/pager.tsx');
  expect([sizeIn(''), sizeIn('', 10), sizeIn('50'), sizeIn('7')]).toEqual([20, 10, 50, 20]);
  localStorage.setItem('page-size', '100');
  expect([sizeIn(''), sizeIn('', 10), sizeIn('50')]).toEqual([100, 100, 50]);
  localStorage.removeItem('page-size');
});

test('amounts that are read alone have cents, and more where cents would hide them; others add up', async () => {
  const rows = [231_110, 725, 0].map((spent, at) => ({ id: at + 1, spent }));
  const spent: Column<Row> = { id: 'spent', header: 'spent', amount: (row) => row.spent };
  const alone = await tableOf([{ ...spent, form: 'short' }], rows);
  expect([...alone.matchAll(/\$[\d.]+/g)].flat()).toEqual(['$0.46', '$0.001450', '$0.00']);
  const together = await tableOf([spent], rows);
  expect([...together.matchAll(/\$[\d.]+/g)].flat()).toEqual(['$0.462220', '$0.001450', '$0.000000']);
});

test('the card of a row begins with its lead', async () => {
  const cells: readonly Column<Row>[] = [
    { id: 'id', header: 'id', key: true, cell: (row) => row.id },
    { id: 'spent', header: 'spent', key: true, lead: true, cell: (row) => row.spent },
  ];
  const table = await tableOf(cells, [{ id: 1, spent: 5 }]);
  expect(table).toMatch(/<td class="[^"]*\blead\b[^"]*">5<\/td>/);
  expect(table.match(/\blead\b/g)?.length).toBeLessThanOrEqual(2);
});

test('a wallet that cannot be paid into says so in a line and has no card for it', async () => {
  const { WalletPage } = await import('../../web/features/wallet/wallet-page.tsx');
  const shown = (status: object) =>
    rendered(<WalletPage />, { path: '/topup', answers: { self: reader(1), status: { ...site, ...status } } });
  const online = `aria-label="${i18next.t('wallet.online')}"`;
  const without = shown({});
  expect(without).toContain(i18next.t('wallet.offline'));
  expect(without).not.toContain(online);
  const payable = shown({ enable_stripe_topup: true });
  expect(payable).toContain(online);
  expect(payable).not.toContain(i18next.t('wallet.offline'));
});

test('an order says how it was paid, in which currency, and how far it has come', async () => {
  const { WalletPage } = await import('../../web/features/wallet/wallet-page.tsx');
  const order = {
    ...{ id: 1, user_id: 7, trade_no: 'T1', payment_method: 'zfb', amount: 10, quota: 5_000_000 },
    ...{ money: '73.00', currency: 'cny', status: 'expired', create_time: 1_795_000_000, complete_time: 0 },
  };
  const page = rendered(<WalletPage />, {
    path: '/topup',
    answers: { self: reader(1), status: site, 'orders,1,20': { items: [order], total: 1 } },
  });
  for (const text of [i18next.t('wallet.alipay'), '73.00 CNY', i18next.t('orders.s.expired')])
    expect(page).toContain(text);
});

test('the account names every service; those that this site does not use say so', async () => {
  const { Bindings } = await import('../../web/features/personal/bindings.tsx');
  const page = (status: object) =>
    rendered(<Bindings self={reader(1)} />, { answers: { status: { ...site, ...status } } });
  const names = (html: string) => [...html.matchAll(/<dt[^>]*>([^<]*)</g)].map(([, name]) => name);
  const off = (html: string) => names(html.split(`>${i18next.t('personal.off')}:<`)[1] ?? '');
  const all = ['account.email', 'account.wechat'].map((key) => i18next.t(key as 'account.email'));
  expect(names(page({}))).toEqual([...all, 'GitHub', 'OIDC', 'Telegram', 'Linux DO']);
  expect(off(page({}))).toContain('GitHub');
  expect(off(page({ github_oauth: true }))).not.toContain('GitHub');
});
