/** Payments and gifts that others gave twice, or to whoever asked. */
import { afterAll, beforeAll, expect } from 'vitest';
import { epaySign } from '../../server/domain/wallet/epay.ts';
import { type ApiFixture, createApiFixture, type Headers } from '../support/api.ts';
import { incident } from './incident.ts';

let api: ApiFixture;
let root: Headers;
const users: { id: number; headers: Headers }[] = [];
const key = 'epay-key';

beforeAll(async () => {
  api = await createApiFixture();
  ({ headers: root } = await api.addUser('root', 100));
  for (let n = 0; n < 4; n++) users.push(await api.addUser(`buyer${n}`, 1));
});
afterAll(async () => {
  expect(await api.gateway.verify()).toEqual([]);
  await api.close();
});

const balanceOf = async (id: number) => {
  await api.gateway.ledger.drain();
  return (await api.gateway.services.users.find(id))?.balance ?? 0;
};
const [first, second] = [() => users[0] ?? { id: 0, headers: {} }, () => users[1] ?? { id: 0, headers: {} }];

incident('CVE-2026-41432', 'with no secret set, the empty one signed a payment that never was', async () => {
  const payload = JSON.stringify({
    type: 'checkout.session.completed',
    data: { object: { client_reference_id: 'USR1', payment_status: 'paid' } },
  });
  const at = Math.floor(Date.now() / 1000);
  const signature = new Bun.CryptoHasher('sha256', '').update(`${at}.${payload}`).digest('hex');
  const response = await fetch(`${api.base}/api/stripe/webhook`, {
    method: 'POST',
    body: payload,
    headers: { 'content-type': 'application/json', 'stripe-signature': `t=${at},v1=${signature}` },
  });
  expect(response.status).toBeGreaterThanOrEqual(400);
  expect(await balanceOf(first().id)).toBe(0);
});

incident('CVE-2026-64868', 'strangers could send payment calls of any size, and each was kept whole', async () => {
  for (const path of ['/api/stripe/webhook', '/api/user/epay/notify']) {
    const response = await fetch(`${api.base}${path}`, { method: 'POST', body: 'x'.repeat(4 * 1024 * 1024) }).catch(
      () => null,
    );
    // Cut off, or refused for its size and for nothing else.
    expect([path, response === null ? 413 : response.status]).toEqual([path, 413]);
  }
  expect(JSON.stringify(await api.gateway.logs()).length).toBeLessThan(100_000);
});

incident('CVE-2026-11465', 'a redemption code was taken by several at the same moment', async () => {
  const { body } = await api.send('POST', '/api/redemption/', { name: 'gift', quota: 500, count: 1 }, root);
  const [code = ''] = body.data as string[];
  const answers = await Promise.all(
    Array.from({ length: 40 }, (_, n) =>
      api.send('POST', '/api/user/topup', { key: code }, users[n % users.length]?.headers),
    ),
  );
  expect(answers.filter((answer) => answer.body.success === true)).toHaveLength(1);
  const balances = await Promise.all(users.map(({ id }) => balanceOf(id)));
  expect(balances.reduce((sum, one) => sum + one, 0)).toBe(500);
});

incident('new-api#4302', 'the lock on a code was an option that the library no longer knew', async () => {
  const { body } = await api.send('POST', '/api/redemption/', { name: 'twice', quota: 70, count: 1 }, root);
  const [code = ''] = body.data as string[];
  const before = await balanceOf(second().id);
  await Promise.all(
    Array.from({ length: 10 }, () => api.send('POST', '/api/user/topup', { key: code }, second().headers)),
  );
  expect(await balanceOf(second().id)).toBe(before + 70);
});

incident(
  'new-api: controller/topup.go',
  'an order was marked as paid before it was credited, and a repeated call paid again',
  async () => {
    for (const [name, value] of [
      ['PayAddress', 'https://pay.example'],
      ['EpayId', '1001'],
      ['EpayKey', key],
      ['ServerAddress', 'https://site.example'],
    ] as const)
      await api.gateway.option(name, value);
    const { id, headers } = second();
    const before = await balanceOf(id);
    const { body } = await api.send('POST', '/api/user/pay', { amount: 2, payment_method: 'alipay' }, headers);
    const form = body.data as Record<string, string>;
    const fields = {
      pid: '1001',
      out_trade_no: form.out_trade_no ?? '',
      trade_no: 'T1',
      type: 'alipay',
      name: form.name ?? '',
      money: form.money ?? '',
      trade_status: 'TRADE_SUCCESS',
    };
    const signed = new URLSearchParams({ ...fields, sign: epaySign(fields, key), sign_type: 'MD5' });
    const notify = () => fetch(`${api.base}/api/user/epay/notify?${signed}`).then((response) => response.text());
    const responses = await Promise.all(Array.from({ length: 20 }, notify));
    responses.push(await notify());
    expect(new Set(responses)).toEqual(new Set(['success']));
    expect(await balanceOf(id)).toBe(before + 2 * 500_000);
  },
);

incident(
  'new-api: model/user.go',
  'moving what was earned saved the whole row, and overwrote what happened meanwhile',
  async () => {
    const { affiliate, users: people } = api.gateway.services;
    await api.gateway.option('QuotaForInviter', '600000');
    const { id, headers } = first();
    const guest = await api.addUser('guest', 1);
    await api.gateway.database.query.updateTable('users').set({ inviter_id: id }).where('id', '=', guest.id).execute();
    const invited = await people.find(guest.id);
    if (invited !== undefined) await Promise.all(Array.from({ length: 5 }, () => affiliate.welcome(invited)));
    const before = await balanceOf(id);
    const move = () => api.send('POST', '/api/user/aff_transfer', { quota: 600_000 }, headers);
    const answers = await Promise.all(Array.from({ length: 12 }, move));
    expect(answers.filter((answer) => answer.body.success === true)).toHaveLength(1);
    expect(await balanceOf(id)).toBe(before + 600_000);
  },
);

incident('litellm#33872', 'spending that could not be written was dropped with the batch it was in', async () => {
  const { LedgerEngine } = await import('../../server/billing/ledger/engine.ts');
  let broken = 2;
  const written: string[] = [];
  const store = {
    apply: (commands: readonly { readonly ref: string }[]) => {
      if (broken-- > 0) throw Object.assign(new Error('disk I/O error'), { code: 'SQLITE_IOERR' });
      written.push(...commands.map(({ ref }) => ref));
      return { results: commands.map(() => ({ ok: true })), events: [] };
    },
    isInvalidCommand: () => false,
    probe: () => undefined,
    checkpoint: () => undefined,
  };
  const engine = new LedgerEngine({ store: store as never, onBalance: () => undefined, onHealth: () => undefined });
  const refs = Array.from({ length: 5 }, (_, n) => `r${n}`);
  for (const ref of refs) engine.submit({ type: 'settle', ref } as never, () => undefined);
  await expect.poll(() => written.toSorted()).toEqual(refs);
});

incident('litellm#36926', 'after a restart what had been reserved was reserved for ever', async () => {
  await api.close();
  // A start on the file; what a node does for one that is gone is tested with nodes.
  api = await createApiFixture({}, { engine: 'sqlite' });
  const { services, userId } = api.gateway;
  const { createLedgerStore } = await import('../../db/ledger/sqlite/store.ts');
  const { recover } = await import('../../server/billing/ledger/recovery.ts');
  const held = () => api.gateway.database.query.selectFrom('holds').selectAll().execute();
  const row = { ref: 'gone', user_id: userId, token_id: 0, channel_id: 0, estimate: 500, observed: 0, epoch: 0, at: 1 };
  await api.gateway.database.query
    .insertInto('holds')
    .values({ ...row, log: '{}' })
    .execute();
  expect(await held()).toHaveLength(1);
  recover(createLedgerStore(api.gateway.raw()));
  expect(await held()).toEqual([]);
  expect((await services.verifyLedger()).filter(({ violations }) => violations > 0)).toEqual([]);
});
