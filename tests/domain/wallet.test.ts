import { createHmac } from 'node:crypto';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { epaySign } from '../../server/domain/wallet/epay.ts';
import { moneyOf, moneyText, quoteTopUp } from '../../server/domain/wallet/quote.ts';
import { type ApiFixture, createApiFixture, type Headers } from '../support/api.ts';
import { often } from '../support/often.ts';
import { randomOf } from '../support/random.ts';

let api: ApiFixture;
let user: { id: number; headers: Headers };
let root: Headers;
const key = 'merchant-key';
const webhookSecret = 'whsec_test';

beforeEach(async () => {
  api = await createApiFixture();
  user = await api.addUser('alice', 1);
  root = await api.login('tester', 'password1');
  for (const [name, value] of [
    ['PayAddress', 'https://pay.example'],
    ['EpayId', '1001'],
    ['EpayKey', key],
    ['ServerAddress', 'https://site.example'],
    ['StripeApiSecret', 'sk_test'],
    ['StripeWebhookSecret', webhookSecret],
  ] as const)
    await api.gateway.option(name, value);
});
afterEach(async () => {
  expect(await api.gateway.verify()).toEqual([]);
  await api.close();
});

interface Said {
  message: string;
  data: Record<string, string>;
  url?: string;
  success: boolean;
  code?: string;
}
const post = async (path: string, body: unknown, headers = user.headers) =>
  (await api.send('POST', path, body, { ...headers, 'accept-language': 'zh' })).body as unknown as Said;
const pay = (amount = 10) => post('/api/user/pay', { amount, top_up_code: '', payment_method: 'zfb' });
const balance = async () => (await api.gateway.services.users.find(user.id))?.balance ?? 0;
const notify = async (fields: Record<string, string> | string) => {
  const query = typeof fields === 'string' ? fields : new URLSearchParams(fields).toString();
  return (await fetch(`${api.base}/api/user/epay/notify?${query}`)).text();
};

/** What the payment gateway says about a paid order. */
function paid(form: Record<string, string>, change: Record<string, string> = {}): Record<string, string> {
  const fields = {
    pid: '1001',
    trade_no: `G${form.out_trade_no}`,
    out_trade_no: form.out_trade_no ?? '',
    type: 'alipay',
    name: form.name ?? '',
    money: form.money ?? '',
    trade_status: 'TRADE_SUCCESS',
    ...change,
  };
  return { ...fields, sign: epaySign(fields, key), sign_type: 'MD5' };
}

test('amount and form say what the formulas say', async () => {
  expect(await post('/api/user/amount', { amount: 10, top_up_code: '' })).toMatchObject({
    message: 'success',
    data: '73.00',
  });
  const { data: form, url, message } = await pay();
  expect({ message, url }).toEqual({ message: 'success', url: 'https://pay.example/submit.php' });
  expect(form).toMatchObject({
    pid: '1001',
    type: 'alipay',
    money: '73.00',
    name: 'TUC10',
    notify_url: 'https://site.example/api/user/epay/notify',
    sign_type: 'MD5',
  });
  expect(form.out_trade_no).toMatch(new RegExp(`^USR${user.id}NO[0-9a-f]{12}\\d+$`));
  expect(form.sign).toBe(epaySign(form, key));
});

test('a callback address with slashes at its end calls back where we answer', async () => {
  await api.send('PUT', '/api/option/', { key: 'CustomCallbackAddress', value: 'https://pay.site.example//' }, root);
  const callback = async () => new URL((await pay()).data.notify_url ?? '').pathname;
  expect(await callback()).toBe('/api/user/epay/notify');
  await api.gateway.rows("UPDATE options SET value = 'https://pay.site.example/' WHERE key = 'CustomCallbackAddress'");
  await api.gateway.services.options.reload();
  expect(await callback()).toBe('/api/user/epay/notify');
});

test('a group pays as often as its ratio says, one that is not named pays once', async () => {
  const requested = async () => (await post('/api/user/amount', { amount: 10 })).data;
  await api.gateway.option('TopupGroupRatio', '{"default":0.5}');
  expect(await requested()).toBe('36.50');
  await api.gateway.option('TopupGroupRatio', '{"vip":0.5}');
  expect(await requested()).toBe('73.00');
});

test('a top-up below the least amount, or without a payment service, is refused by words in data', async () => {
  await api.gateway.option('MinTopUp', '5');
  expect(await post('/api/user/amount', { amount: 4 })).toMatchObject({ message: 'error', data: '充值数量不能小于5' });
  await api.gateway.option('Price', '0');
  expect(await pay()).toMatchObject({ message: 'error', data: '充值金额过低' });
  await api.gateway.option('PayAddress', '');
  expect(await pay()).toMatchObject({ success: false, message: 'error', data: '管理员未开启在线充值！' });
});

test('an order that was paid stays paid however old it gets; one that was not expires after a day', async () => {
  const [first, second] = [await pay(), await pay()];
  expect(await notify(paid(first.data))).toBe('success');
  await api.gateway.rows('UPDATE top_ups SET created_at = created_at - 90000');
  await api.gateway.services.wallet.sweep();
  const { items } = (await api.send('GET', '/api/user/topup/self', undefined, user.headers)).body.data as {
    items: { trade_no: string; status: string }[];
  };
  expect(Object.fromEntries(items.map((order) => [order.trade_no, order.status]))).toEqual({
    [first.data.out_trade_no ?? '']: 'success',
    [second.data.out_trade_no ?? '']: 'expired',
  });
});

test('orders say whose they are, are found by that, and add up over all pages', async () => {
  const other = await api.addUser('bob', 1);
  for (const amount of [10, 20]) await notify(paid((await pay(amount)).data));
  await pay(30);
  const { data } = await post('/api/user/pay', { amount: 5, top_up_code: '', payment_method: 'zfb' }, other.headers);
  await notify(paid(data));
  const found = async (query: string) =>
    (await api.send('GET', `/api/user/topup?p=1&${query}`, undefined, root)).body.data;
  const sum = (status: string, orders: number, quota: number, money: string) => ({
    ...{ status, currency: 'cny', orders, quota, money },
  });
  expect(await found('page_size=1')).toMatchObject({
    items: [{ user_id: other.id, username: 'bob' }],
    total: 4,
    sums: [sum('pending', 1, 15_000_000, '219.00'), sum('success', 3, 17_500_000, '255.50')],
  });
  for (const keyword of ['bob', String(other.id), data.out_trade_no])
    expect(await found(`page_size=10&keyword=${keyword}`)).toMatchObject({
      items: [{ username: 'bob' }],
      total: 1,
      sums: [sum('success', 1, 2_500_000, '36.50')],
    });
  expect(await found('page_size=10&status=expired')).toMatchObject({ items: [], total: 0, sums: [] });
});

test('orders cannot be opened without end', async () => {
  for (let n = 0; n < 30; n++) expect((await pay()).message).toBe('success');
  expect(await pay()).toMatchObject({ message: 'error', code: 'too_many_attempts' });
});

test('a paid order is credited once: replayed, in parallel, by browser and by gateway', async () => {
  const { data: form } = await pay();
  const fields = paid(form);
  expect(await Promise.all(Array.from({ length: 500 }, () => notify(fields)))).toEqual(Array(500).fill('success'));
  for (let n = 0; n < 10; n++) expect(await notify(fields)).toBe('success');
  const back = await fetch(`${api.base}/api/user/epay/return?${new URLSearchParams(fields)}`, { redirect: 'manual' });
  expect([back.status, back.headers.get('location')]).toEqual([303, '/log']);
  const under = await fetch(`${api.base}/api/user/epay/return?${new URLSearchParams(fields)}`, {
    redirect: 'manual',
    headers: { 'x-gateway-base-path': '/ai' },
  });
  expect(under.headers.get('location')).toBe('/ai/log');
  expect(await balance()).toBe(5_000_000);
  expect((await api.send('GET', '/api/user/topup/self', undefined, user.headers)).body.data).toMatchObject({
    items: [{ trade_no: form.out_trade_no, status: 'success', money: '73.00', quota: 5_000_000 }],
  });
  const logs = await api.gateway.logs();
  expect(logs.filter((row) => row.type === 1)).toMatchObject([
    { content: '使用在线充值成功，充值金额: ＄10.000000 额度，支付金额：73.00' },
  ]);
});

test('a form that is posted counts like a query', async () => {
  const { data: form } = await pay();
  const response = await fetch(`${api.base}/api/user/epay/notify`, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams(paid(form)),
  });
  expect(await response.text()).toBe('success');
  expect(await balance()).toBe(5_000_000);
});

test('a second payment of the same order, another amount and an unknown order stay visible and credit nothing', async () => {
  const { data: form } = await pay();
  const { data: other } = await pay();
  await notify(paid(form));
  expect(await notify(paid(form, { trade_no: 'second' }))).toBe('success');
  expect(await notify(paid(other, { money: '0.01' }))).toBe('fail');
  expect(await notify(paid({ ...form, out_trade_no: 'USR1NOx' }))).toBe('fail');
  expect(await notify(paid(other, { trade_no: 'w', trade_status: 'WAIT_BUYER_PAY' }))).toBe('success');
  expect(await balance()).toBe(5_000_000);
  const seen = (await api.send('GET', '/api/user/topup/callbacks', undefined, root)).body.data;
  expect((seen as { items: { outcome: string }[] }).items.map((item) => item.outcome)).toEqual([
    'ignored',
    'unmatched',
    'mismatch',
    'duplicate',
    'credited',
  ]);
  expect(await post('/api/user/topup/complete', { trade_no: other.out_trade_no }, root)).toMatchObject({
    data: { status: 'success' },
  });
  expect(await post('/api/user/topup/complete', { trade_no: other.out_trade_no }, root)).toMatchObject({
    code: 'topup_paid',
  });
  expect(await balance()).toBe(10_000_000);
});

test('a payment for a closed account is kept and credits no user', async () => {
  const { data: form } = await pay();
  await api.gateway.database.query.updateTable('users').set({ deleted_at: 1 }).where('id', '=', user.id).execute();
  expect(await notify(paid(form))).toBe('fail');
  expect(await api.gateway.services.wallet.callbacks('unmatched', 1, 10)).toMatchObject({ total: 1 });
  expect(await post('/api/user/topup/complete', { trade_no: form.out_trade_no }, root)).toMatchObject({
    code: 'user_unknown',
  });
});

test('a callback that was kept but not worked on is taken up again', async () => {
  const { data: form } = await pay();
  const { database, services } = api.gateway;
  await database.query
    .insertInto('callbacks')
    .values({
      source: 'epay',
      event_id: 'e',
      trade_no: form.out_trade_no ?? '',
      received_at: 1,
      outcome: 'new',
      facts: JSON.stringify({ paid: true, money: 7300, currency: 'cny' }),
      body: '',
    })
    .execute();
  await services.wallet.sweep();
  await services.wallet.sweep();
  expect(await balance()).toBe(5_000_000);
});

test('an unpaid order expires; a payment that comes later counts all the same', async () => {
  const { data: form } = await pay();
  const { database, services } = api.gateway;
  await database.query.updateTable('top_ups').set({ created_at: 1 }).execute();
  await services.wallet.sweep();
  expect(await services.wallet.orders({}, 1, 10)).toMatchObject({ items: [{ status: 'expired' }] });
  expect(await notify(paid(form))).toBe('success');
  expect(await balance()).toBe(5_000_000);
});

test('forged or altered callbacks credit nothing', async () => {
  const { data: form } = await pay();
  const right = paid(form);
  const names = Object.keys(right).filter((name) => name !== 'sign_type' && name !== 'sign');
  const random = randomOf(7);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
  const forge: readonly (() => string)[] = [
    // A field changed after signing.
    () => String(new URLSearchParams({ ...right, [pick(names)]: `x${random()}` })),
    // Signed with other keys, or none.
    () =>
      String(new URLSearchParams({ ...right, sign: epaySign(right, pick(['', 'x', key.toUpperCase(), `${key} `])) })),
    // A field twice.
    () => `${new URLSearchParams(right)}&${pick(names)}=1`,
    () => `${new URLSearchParams(right)}&sign[]=${right.sign}&money[a]=1`,
    // A bit of the signature.
    () => {
      const at = Math.floor(random() * 32);
      const flipped = right.sign?.[at] === '0' ? '1' : '0';
      return String(
        new URLSearchParams({ ...right, sign: `${right.sign?.slice(0, at)}${flipped}${right.sign?.slice(at + 1)}` }),
      );
    },
    () => String(new URLSearchParams({ ...right, sign: pick(['', '0', 'null', 'a'.repeat(32), 'é'.repeat(16)]) })),
    // Well signed, but for another merchant, order, amount or state.
    () => String(new URLSearchParams(paid(form, { pid: pick(['1002', '', '01001']), trade_no: `${random()}` }))),
    () =>
      String(new URLSearchParams(paid(form, { out_trade_no: `USR${user.id}NO${random()}`, trade_no: `${random()}` }))),
    () =>
      String(
        new URLSearchParams(
          paid(form, {
            money: pick(['0.01', '72.99', '73.001', '-73.00', '7.3e1', ' 73.00', '0x49', '']),
            trade_no: `${random()}`,
          }),
        ),
      ),
    () =>
      String(
        new URLSearchParams(
          paid(form, { trade_status: pick(['trade_success', 'TRADE_CLOSED', '', 'WAIT']), trade_no: `${random()}` }),
        ),
      ),
  ];
  for (let n = 0; n < often(400, 2000); n += 20) {
    const answers = Array.from({ length: 20 }, (_, one) => notify((forge[(n + one) % forge.length] ?? (() => ''))()));
    await Promise.all(answers);
  }
  expect(await balance()).toBe(0);
  expect(await notify(right)).toBe('success');
  expect(await balance()).toBe(5_000_000);
});

test('without a key no callback is accepted: Epay gets its error word, Stripe’s route does not exist', async () => {
  const { data: form } = await pay();
  await api.gateway.services.options.reset('EpayKey', 100, '');
  await api.gateway.services.options.reset('StripeWebhookSecret', 100, '');
  const fields = { ...paid(form) };
  const unsigned = { ...fields, sign: epaySign(fields, '') };
  const answer = await fetch(`${api.base}/api/user/epay/notify?${new URLSearchParams(unsigned)}`);
  expect([answer.status, await answer.text()]).toEqual([200, 'fail']);
  const unknown = await fetch(`${api.base}/api/stripe/webhook`, { method: 'POST', body: '{}' });
  expect([unknown.status, await unknown.text()]).toEqual([404, expect.stringContaining('POST /api/stripe/webhook')]);
  expect(await balance()).toBe(0);
});

test('a body too large is refused before it is read', async () => {
  const response = await fetch(`${api.base}/api/stripe/webhook`, { method: 'POST', body: 'x'.repeat(70_000) });
  expect(response.status).toBe(413);
});

async function stripeOrder(): Promise<string> {
  const { services } = api.gateway;
  const found = await services.users.find(user.id);
  if (found === undefined) throw new Error('no user');
  // The page itself is tested below; here only the order is needed.
  await services.wallet.payByStripe(found, 3).catch(() => undefined);
  return (await services.wallet.orders({ userId: user.id }, 1, 1)).items[0]?.trade_no ?? '';
}

const event = (tradeNo: string, change: object = {}, id = `evt_${tradeNo}`): string =>
  JSON.stringify({
    id,
    type: 'checkout.session.completed',
    data: {
      object: { client_reference_id: tradeNo, payment_status: 'paid', amount_total: 300, currency: 'usd', ...change },
    },
  });
const webhook = async (body: string, at = Math.floor(Date.now() / 1000), secret = webhookSecret) => {
  const signature = createHmac('sha256', secret).update(`${at}.${body}`).digest('hex');
  const headers = { 'stripe-signature': `t=${at},v1=${signature}` };
  return (await fetch(`${api.base}/api/stripe/webhook`, { method: 'POST', headers, body })).text();
};

test('Stripe: a paid session is credited once, an altered or old one never', async () => {
  const tradeNo = await stripeOrder();
  const now = Math.floor(Date.now() / 1000);
  await webhook(event(tradeNo), now - 301);
  await webhook(event(tradeNo), now + 400);
  await webhook(event(tradeNo), now, 'whsec_other');
  await webhook(event(tradeNo, { amount_total: 299 }, 'evt_1'));
  await webhook(event(tradeNo, { currency: 'jpy' }, 'evt_2'));
  await webhook(event(tradeNo, { payment_status: 'unpaid' }, 'evt_3'));
  await webhook('{');
  await webhook('null');
  expect(await balance()).toBe(0);
  expect(await Promise.all(Array.from({ length: 50 }, () => webhook(event(tradeNo))))).toEqual(Array(50).fill('ok'));
  await webhook(event(tradeNo, {}, 'evt_again'));
  expect(await balance()).toBe(1_500_000);
});

test('Stripe: forged or altered events credit nothing', async () => {
  const tradeNo = await stripeOrder();
  const body = event(tradeNo);
  const now = Math.floor(Date.now() / 1000);
  const sign = (text: string, at: number | string, secret = webhookSecret) =>
    createHmac('sha256', secret).update(`${at}.${text}`).digest('hex');
  const random = randomOf(11);
  const right = sign(body, now);
  const forge: readonly (() => readonly [string, string])[] = [
    () => [body.replace('300', String(Math.floor(random() * 1e6))), `t=${now},v1=${right}`],
    () => [`${body} `, `t=${now},v1=${right}`],
    () => [body, `t=${now + 1 + Math.floor(random() * 200)},v1=${right}`],
    () => [body, `t=${now},v0=${right}`],
    () => [body, `t=${now},v1=${right.slice(0, Math.floor(random() * 64))}`],
    () => [body, `t=${now},v1=${sign(body, now, `secret${random()}`)}`],
    () => [body, `v1=${right}`],
    () => [body, `t=,v1=${sign(body, '')}`],
    () => [body, `t=${now - 302},v1=${sign(body, now - 302)}`],
    () => [body, ''],
  ];
  for (let n = 0; n < often(150, 500); n++) {
    const [text, signature] = (forge[n % forge.length] ?? (() => ['', ''] as const))();
    const headers = { 'stripe-signature': signature };
    const answer = await fetch(`${api.base}/api/stripe/webhook`, { method: 'POST', headers, body: text });
    expect([n, await answer.json()]).toEqual([n, expect.objectContaining({ success: false })]);
  }
  expect(await balance()).toBe(0);
  expect(await webhook(body, now)).toBe('ok');
  expect(await balance()).toBe(1_500_000);
});

test.each([
  [10, 7.3, 1, '73.00', 5_000_000],
  [1, 7.3, 0, '7.30', 500_000],
  [3, 7.25, 0.333333, '7.25', 1_500_000],
] as const)('%d dollars at %d for a group of %d cost %s', (amount, price, groupRatio, money, quota) => {
  const quoted = quoteTopUp(amount, {
    price,
    min: 1,
    groupRatio,
    inCurrency: true,
    quotaPerUnit: 500_000,
    minor: 100,
  });
  expect([moneyText(quoted.money, 100), quoted.quota]).toEqual([money, quota]);
});

test('an amount given as quota is credited to the unit', () => {
  const terms = { price: 7.3, min: 1, groupRatio: 1, inCurrency: false, quotaPerUnit: 500_000, minor: 100 };
  expect(quoteTopUp(1_250_000, terms)).toEqual({ amount: 1_250_000, quota: 1_250_000, money: 1825 });
  expect(() => quoteTopUp(499_999, terms)).toThrow(expect.objectContaining({ code: 'topup_minimum' }));
});

test('money is read exactly or not at all', () => {
  expect(['73.00', '73', '73.0', '73.5', '0.01'].map((text) => moneyOf(text, 100))).toEqual([
    7300, 7300, 7300, 7350, 1,
  ]);
  for (const text of ['73.001', '-1', '1e2', '', '1,00', ' 1', '０.1']) expect(moneyOf(text, 100)).toBeNull();
  expect([moneyText(5, 100), moneyText(300, 1), moneyOf('300', 1)]).toEqual(['0.05', '300', 300]);
});
