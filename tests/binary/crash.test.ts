import { expect, onTestFinished, test } from 'vitest';
import { type EpayFields, epaySign } from '../../server/domain/wallet/epay.ts';
import { figure } from '../support/figure.ts';
import { createSandbox, freePort, type Sandbox, setUp } from './support.ts';

const rounds = Number(process.env.GATEWAY_CRASH_ROUNDS ?? 50);
const merchantKey = 'merchant-key';
const codesPerRound = 60;

/** What people outside know: only what they were told in full before the process died. */
interface Seen {
  /** Ids of answers whose end arrived. */
  readonly charges: Set<string>;
  /** Codes whose redemption was confirmed. */
  readonly codes: Set<string>;
  /** Orders that the payment provider holds money for, and whether its notice was confirmed. */
  readonly orders: Map<string, { readonly notice: EpayFields; confirmed: boolean }>;
}

interface Api {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

const send = async (api: Api, path: string, body: unknown): Promise<Record<string, unknown>> => {
  const response = await fetch(`${api.url}${path}`, {
    method: 'POST',
    headers: { ...api.headers, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return (await response.json()) as Record<string, unknown>;
};

async function chat(url: string, key: string, stream: boolean, seen: Seen): Promise<void> {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify({ model: 'practice-small', stream, messages: [{ role: 'user', content: 'hi' }] }),
  });
  const text = await response.text();
  const whole = stream ? text.endsWith('data: [DONE]\n\n') : text.endsWith('}');
  if (response.status === 200 && whole) seen.charges.add(response.headers.get('x-oneapi-request-id') ?? '');
}

async function redeem(api: Api, code: string, seen: Seen): Promise<void> {
  const answer = await send(api, '/api/user/topup', { key: code });
  if (answer.success === true) seen.codes.add(code);
}

/** The provider takes the money first and tells afterwards, several times when it likes. */
async function payOrder(api: Api, seen: Seen): Promise<void> {
  const answer = await send(api, '/api/user/pay', { amount: 3, top_up_code: '', payment_method: 'zfb' });
  const form = answer.data as Record<string, string>;
  if (answer.message !== 'success' || form?.out_trade_no === undefined) throw new Error(JSON.stringify(answer));
  const fields = {
    pid: '1001',
    trade_no: `G${form.out_trade_no}`,
    out_trade_no: form.out_trade_no,
    type: 'alipay',
    name: form.name ?? '',
    money: form.money ?? '',
    trade_status: 'TRADE_SUCCESS',
    sign_type: 'MD5',
  };
  seen.orders.set(form.out_trade_no, { notice: { ...fields, sign: epaySign(fields, merchantKey) }, confirmed: false });
  await Promise.all([notify(api.url, form.out_trade_no, seen), notify(api.url, form.out_trade_no, seen)]);
}

async function notify(url: string, tradeNo: string, seen: Seen): Promise<void> {
  const order = seen.orders.get(tradeNo);
  if (order === undefined) return;
  const query = new URLSearchParams(order.notice).toString();
  const text = await (await fetch(`${url}/api/user/epay/notify?${query}`)).text();
  if (text === 'success') order.confirmed = true;
}

/** Asks again and again until the process is gone. */
async function until(gone: () => boolean, ask: () => Promise<void>): Promise<void> {
  while (!gone()) {
    try {
      await ask();
    } catch (error) {
      // Whoever was talking to the process when it died hears nothing more; anything else is a finding.
      if (!gone() && !/connect|reset|closed|socket|JSON|Unable/i.test(String(error))) throw error;
      await Bun.sleep(1);
    }
  }
}

async function preparePayments(sandbox: Sandbox): Promise<void> {
  for (const [name, value] of [
    ['PayAddress', 'https://pay.example'],
    ['EpayId', '1001'],
    ['EpayKey', merchantKey],
    ['ServerAddress', 'https://site.example'],
  ] as const) {
    const ran = await sandbox.run(['option', 'set', `${name}=-`], value);
    if (ran.code !== 0) throw new Error(ran.err);
  }
}

const seenOf = ({ charges, codes, orders }: Seen): number[] => [charges.size, codes.size, orders.size];

/** The administrator's management access token. */
async function accessToken(url: string): Promise<Api> {
  const login = await fetch(`${url}/api/user/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ username: 'root', password: 'password1' }),
  });
  const cookie = (login.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
  const made = await fetch(`${url}/api/user/token`, { headers: { cookie, 'new-api-user': '1' } });
  const { data } = (await made.json()) as { data: string };
  return { url, headers: { authorization: data, 'new-api-user': '1' } };
}

test(`${rounds} times kill -9 under streams, redemptions and payments: nothing that a client saw is lost, nothing is doubled`, async () => {
  const sandbox = createSandbox();
  onTestFinished(() => sandbox.close());
  const upstream = await sandbox.start(['mock-upstream', '--port', String(freePort())]);
  const key = await setUp(sandbox, upstream.line);
  await preparePayments(sandbox);
  const seen: Seen = { charges: new Set(), codes: new Set(), orders: new Map() };
  let headers: Api['headers'] | null = null;
  const serve = () => sandbox.start(['serve', '--port', String(freePort())]);
  for (let round = 0; round < rounds; round++) {
    const made = await sandbox.run(['redemption', 'create', '--quota', '1000', '--count', String(codesPerRound), '-q']);
    const codes = made.out.trim().split('\n');
    const { line, child } = await serve();
    const url = line.replace('URL: ', '');
    headers ??= (await accessToken(url)).headers;
    const api = { url, headers };
    let alive = true;
    const gone = () => !alive;
    const open = [...seen.orders].filter(([, order]) => !order.confirmed).map(([tradeNo]) => tradeNo);
    const clients = [
      ...Array.from({ length: 6 }, (_, index) => until(gone, () => chat(url, key, index % 2 === 0, seen))),
      until(gone, async () => {
        const code = codes.pop();
        await (code === undefined ? Bun.sleep(5) : redeem(api, code, seen));
      }),
      until(gone, async () => {
        const again = open.pop();
        await (again === undefined ? payOrder(api, seen) : notify(url, again, seen));
      }),
    ];
    // Every second round something of each kind must have come through, however busy the machine is.
    const before = seenOf(seen);
    const grown = () => seenOf(seen).every((count, kind) => count > (before[kind] ?? 0));
    if (round % 2 === 1) await expect.poll(grown, { timeout: 60_000, interval: 5 }).toBe(true);
    await Bun.sleep(20 + Math.random() * 250);
    child.kill('SIGKILL');
    await child.exited;
    alive = false;
    await Promise.all(clients);
  }
  // The provider repeats what was never confirmed.
  const last = await serve();
  for (const [tradeNo, { confirmed }] of seen.orders)
    if (!confirmed) await notify(last.line.replace('URL: ', ''), tradeNo, seen);
  expect([...seen.orders.values()].filter(({ confirmed }) => !confirmed)).toEqual([]);
  last.child.kill('SIGTERM');
  await last.child.exited;

  const verified = await sandbox.run(['ledger', 'verify', '--json']);
  const reports = JSON.parse(verified.out) as { id: string; violations: number }[];
  expect(reports.filter((report) => report.violations > 0)).toEqual([]);
  const { Database } = await import('bun:sqlite');
  const database = new Database(`${sandbox.dataDir}/gateway.db`, { readonly: true });
  const column = (sql: string) => (database.query(sql).values() as [string][]).map(([value]) => value);
  const charged = column("SELECT ref FROM postings WHERE kind = 'settle'");
  const redeemed = column("SELECT ref FROM postings WHERE kind = 'redeem'");
  const credited = column("SELECT substr(ref, 7) FROM postings WHERE kind = 'topup'");
  const logged = column('SELECT request_id FROM logs WHERE type = 2');
  const used = column("SELECT 'redeem:' || id FROM redemptions WHERE status = 3");
  database.close();

  expect(new Set(charged).size).toBe(charged.length);
  expect([...seen.charges].filter((ref) => !charged.includes(ref))).toEqual([]);
  expect(new Set(logged)).toEqual(new Set(charged));
  expect(new Set(redeemed).size).toBe(redeemed.length);
  expect(new Set(used)).toEqual(new Set(redeemed));
  expect(redeemed.length).toBeGreaterThanOrEqual(seen.codes.size);
  expect(credited.toSorted()).toEqual([...seen.orders.keys()].toSorted());
  expect(Math.min(...seenOf(seen))).toBeGreaterThan(rounds / 4);
  figure(
    `${rounds} rounds: ${seen.charges.size} ends seen of ${charged.length} charges, ${seen.codes.size} redemptions confirmed of ${redeemed.length}, ${seen.orders.size} orders paid and credited: 0 lost, 0 doubled`,
  );
});
