import { expect, test } from 'vitest';
import { createApiFixture } from '../support/api.ts';
import { createTestGateway } from '../support/gateway.ts';

test('a payment page is opened for the order, in the smallest unit of the currency', async () => {
  const sent: { url: string; headers: Headers; body: URLSearchParams }[] = [];
  let status = 200;
  const gateway = await createTestGateway({
    fetch: (async (url: string, init: RequestInit) => {
      sent.push({ url, headers: new Headers(init.headers), body: new URLSearchParams(String(init.body)) });
      return Response.json({ url: 'https://checkout.example/1' }, { status });
    }) as typeof fetch,
  });
  const { services, userId } = gateway;
  const user = await services.users.find(userId);
  if (user === undefined) throw new Error('no user');
  await expect(services.wallet.payByStripe(user, 3)).rejects.toMatchObject({ code: 'topup_unconfigured' });
  for (const [key, value] of [
    ['StripeApiSecret', 'sk_test'],
    ['StripeWebhookSecret', 'whsec'],
    ['ServerAddress', 'https://site.example'],
    ['StripeCurrency', 'JPY'],
    ['StripeUnitPrice', '150'],
  ] as const)
    await gateway.option(key, value);
  expect(await services.wallet.payByStripe(user, 3)).toBe('https://checkout.example/1');
  const [order] = (await services.wallet.orders({}, 1, 1)).items;
  expect(order).toMatchObject({ status: 'pending', money: '450', currency: 'jpy', quota: 1_500_000 });
  expect(sent[0]?.url).toBe('https://api.stripe.com/v1/checkout/sessions');
  expect(sent[0]?.headers.get('authorization')).toBe('Bearer sk_test');
  expect(Object.fromEntries(sent[0]?.body ?? [])).toMatchObject({
    client_reference_id: order?.trade_no,
    'line_items[0][price_data][currency]': 'jpy',
    'line_items[0][price_data][unit_amount]': '450',
  });
  status = 402;
  await expect(services.wallet.payByStripe(user, 3)).rejects.toMatchObject({ code: 'topup_pay_failed' });
  await gateway.close();
});

test('the order that the API opens at Stripe is of the amount that was asked for, for the user who asked', async () => {
  const sent: URLSearchParams[] = [];
  const api = await createApiFixture(
    {},
    {
      fetch: (async (_url: string, init: RequestInit) => {
        sent.push(new URLSearchParams(String(init.body)));
        return Response.json({ url: 'https://checkout.example/2' });
      }) as typeof fetch,
    },
  );
  const alice = await api.addUser('alice', 1);
  for (const [key, value] of [
    ['StripeApiSecret', 'sk_test'],
    ['StripeWebhookSecret', 'whsec'],
    ['ServerAddress', 'https://site.example'],
    ['StripeUnitPrice', '8'],
  ] as const)
    await api.gateway.option(key, value);
  const { body } = await api.send('POST', '/api/user/stripe/pay', { amount: 50 }, alice.headers);
  expect(body).toMatchObject({ message: 'success', data: { pay_link: 'https://checkout.example/2' } });
  expect(sent.map((fields) => fields.get('line_items[0][price_data][unit_amount]'))).toEqual(['40000']);
  const [order] = (await api.gateway.services.wallet.orders({}, 1, 10)).items;
  expect(order).toMatchObject({ user_id: alice.id, amount: 50, status: 'pending', quota: 25_000_000 });
  await api.close();
});
