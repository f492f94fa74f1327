/** The clients of a cluster: accounts with known balances and a key each, created over the API. */

export interface Account {
  readonly name: string;
  readonly id: number;
  readonly key: string;
  readonly tokenId: number;
  /** Of a session, for calls of the API. */
  readonly headers: Readonly<Record<string, string>>;
  readonly balance: number;
}

export interface Needed {
  readonly accounts: readonly {
    readonly name: string;
    readonly balance: number;
    /** Of its key, default: none. */
    readonly limit?: number;
    readonly perMinute?: number;
  }[];
  readonly codes?: { readonly count: number; readonly quota: number };
}

interface Answer {
  readonly success: boolean;
  readonly message?: string;
  readonly data?: unknown;
}

const maxCodes = 100;

export async function call(
  url: string,
  method: string,
  headers: Readonly<Record<string, string>>,
  body?: unknown,
): Promise<Answer> {
  const response = await fetch(url, {
    method,
    headers: { ...headers, 'content-type': 'application/json' },
    keepalive: false,
    signal: AbortSignal.timeout(30_000),
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return (await response.json()) as Answer;
}

const well = async (answer: Promise<Answer>): Promise<unknown> => {
  const { success, message, data } = await answer;
  if (!success) throw new Error(message ?? 'refused');
  return data;
};

async function logIn(url: string, username: string) {
  const response = await fetch(`${url}/api/user/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ username, password: 'password1' }),
  });
  const cookie = (response.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
  const { data } = (await response.json()) as { data: { id: number } };
  return { id: data.id, headers: { cookie, 'new-api-user': String(data.id) } };
}

export async function provision(url: string, wanted: Needed) {
  const root = await logIn(url, 'root');
  const post = (path: string, body: unknown, headers: Readonly<Record<string, string>> = root.headers) =>
    well(call(`${url}${path}`, 'POST', headers, body));
  const keyOf = async (headers: Readonly<Record<string, string>>, limit?: number, perMinute = 0) => {
    const quota = limit === undefined ? { unlimited_quota: true } : { remain_quota: limit };
    const made = await post('/api/token/', { name: 'proof', ...quota, rpm_limit: perMinute }, headers);
    const { id, key } = made as { id: number; key: string };
    return { tokenId: id, key: `sk-${key}` };
  };
  const accounts: Account[] = [];
  for (const { name, balance, limit, perMinute } of wanted.accounts) {
    await post('/api/user/', { username: name, password: 'password1', display_name: name });
    const { id, headers } = await logIn(url, name);
    await well(call(`${url}/api/user/`, 'PUT', root.headers, { id, quota: balance }));
    accounts.push({ name, id, headers, balance, ...(await keyOf(headers, limit, perMinute)) });
  }
  const codes: string[] = [];
  for (let left = wanted.codes?.count ?? 0; left > 0; left -= maxCodes) {
    const order = { name: 'proof', quota: wanted.codes?.quota ?? 0, count: Math.min(left, maxCodes) };
    codes.push(...((await post('/api/redemption/', order)) as string[]));
  }
  const own = await keyOf(root.headers);
  return { accounts, codes, root: { name: 'root', balance: 0, ...root, ...own } };
}
