/** A program's sign-in to a remote gateway: asked for by a code, kept in the system's keyring or a 0600 file, renewed silently. */
import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { AppError } from '../server/contract/errors.ts';
import { configFolder } from './contexts.ts';

type Environment = Readonly<Record<string, string | undefined>>;

interface Kept {
  readonly refresh: string;
  readonly access: string;
  /** Epoch milliseconds at which `access` stops working. */
  readonly end: number;
}

export interface SignedIn extends Kept {
  readonly user: { readonly id: number; readonly username: string };
}

interface Answer {
  readonly error?: string;
  readonly device_code?: string;
  readonly user_code?: string;
  readonly verification_uri?: string;
  readonly interval?: number;
  readonly expires_in?: number;
  readonly access_token?: string;
  readonly refresh_token?: string;
  readonly user?: { readonly id: number; readonly username: string };
}

const service = 'gateway';
const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code';
const timeoutMs = 15_000;
/** An access token with less left is renewed: a request that begins with it shall not outlive it at once. */
const renewBeforeMs = 5 * 60_000;
const lockWaitMs = 20_000;
/** A process that died holds no lock for longer. */
const lockStaleMs = 60_000;

/** Plain HTTP to another machine shows a token to everybody on the way. */
export function isSecure(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  return protocol === 'https:' || /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname);
}

/** @returns null where there is nothing at that address. @throws AppError server_unreachable */
async function post(url: string, path: string, form: Record<string, string>): Promise<Answer | null> {
  try {
    const response = await fetch(`${url.replace(/\/+$/, '')}${path}`, {
      method: 'POST',
      body: new URLSearchParams(form),
      redirect: 'error',
      signal: AbortSignal.timeout(timeoutMs),
    });
    if (response.status === 404) return null;
    if (response.status >= 500) throw new Error(`HTTP ${response.status}`);
    return (await response.json()) as Answer;
  } catch (cause) {
    throw new AppError('server_unreachable', { detail: `${url}: ${(cause as Error).message}` }, cause);
  }
}

const issuedIn = (answer: Answer | null, now: number): SignedIn | null => {
  const { access_token: access, refresh_token: refresh, expires_in: seconds, user } = answer ?? {};
  if (access === undefined || refresh === undefined || seconds === undefined || user === undefined) return null;
  return { access, refresh, end: now + seconds * 1000, user };
};

/** Asks for a code, shows it, waits. @param show address and code. @returns null where the site lets no program sign in. @throws AppError cancelled, signed_out, server_unreachable */
export async function signIn(
  url: string,
  host: string,
  show: (address: string, code: string) => void,
): Promise<SignedIn | null> {
  const begun = await post(url, '/oauth/device_authorization', { client_id: 'gateway', host });
  if (begun === null) return null;
  const { device_code: device, user_code: code, verification_uri: address } = begun;
  if (begun.error === 'slow_down') throw new AppError('too_many_attempts');
  if (device === undefined || code === undefined || address === undefined)
    throw new AppError('server_unreachable', { detail: `${url}: ${begun.error ?? 'no code'}` });
  show(address, code);
  let interval = begun.interval ?? 5;
  const until = Date.now() + (begun.expires_in ?? 600) * 1000;
  while (Date.now() < until) {
    await Bun.sleep(interval * 1000);
    const form = { grant_type: deviceGrant, device_code: device, client_id: 'gateway' };
    const answer = await post(url, '/oauth/token', form);
    const issued = issuedIn(answer, Date.now());
    if (issued !== null) return issued;
    if (answer?.error === 'slow_down') interval += 5;
    else if (answer?.error === 'access_denied') throw new AppError('cancelled');
    else if (answer?.error !== 'authorization_pending') break;
  }
  throw new AppError('sign_in_code');
}

const fileOf = (env: Environment, name: string): string =>
  join(configFolder(env), `sign-in-${encodeURIComponent(name)}.json`);

/** Over SSH no keyring is open, or it is that of another session. */
const mayUseKeyring = (env: Environment): boolean => !env.SSH_CONNECTION && !env.GATEWAY_NO_KEYRING;

/** @returns where it lies. */
export async function keep(
  env: Environment,
  name: string,
  { refresh, access, end }: Kept,
): Promise<'keyring' | 'file'> {
  const value = JSON.stringify({ refresh, access, end } satisfies Kept);
  const file = fileOf(env, name);
  if (mayUseKeyring(env)) {
    try {
      await Bun.secrets.set({ service, name, value });
      rmSync(file, { force: true });
      return 'keyring';
    } catch {
      // No keyring here: the file is as private as the contexts are.
    }
  }
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  writeFileSync(`${file}.new`, `${value}\n`, { mode: 0o600 });
  chmodSync(`${file}.new`, 0o600);
  renameSync(`${file}.new`, file);
  return 'file';
}

async function kept(env: Environment, name: string): Promise<Kept | null> {
  const file = fileOf(env, name);
  if (existsSync(file)) return JSON.parse(readFileSync(file, 'utf8')) as Kept;
  if (!mayUseKeyring(env)) return null;
  try {
    const value = await Bun.secrets.get({ service, name });
    return value === null ? null : (JSON.parse(value) as Kept);
  } catch {
    return null;
  }
}

async function forget(env: Environment, name: string): Promise<void> {
  rmSync(fileOf(env, name), { force: true });
  if (!mayUseKeyring(env)) return;
  try {
    await Bun.secrets.delete({ service, name });
  } catch {
    // There is no keyring, so nothing lies in it.
  }
}

/** One terminal at a time: a refresh token that two exchange at once is lost for both. */
async function locked<Result>(env: Environment, name: string, work: () => Promise<Result>): Promise<Result> {
  const file = `${fileOf(env, name)}.lock`;
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const until = Date.now() + lockWaitMs;
  for (;;) {
    try {
      closeSync(openSync(file, 'wx', 0o600));
      break;
    } catch (error) {
      if ((error as { code?: string }).code !== 'EEXIST') throw error;
      if (ageOf(file) > lockStaleMs) rmSync(file, { force: true });
      else if (Date.now() > until) throw new AppError('server_unreachable', { detail: file });
      else await Bun.sleep(50);
    }
  }
  try {
    return await work();
  } finally {
    rmSync(file, { force: true });
  }
}

/** Milliseconds; 0 = it is gone already. */
function ageOf(file: string): number {
  try {
    return Date.now() - statSync(file).mtimeMs;
  } catch {
    return 0;
  }
}

/** An access token with some minutes left. @throws AppError signed_out, server_unreachable */
export async function accessToken(env: Environment, name: string, url: string): Promise<string> {
  const fresh = (one: Kept | null): boolean => one !== null && one.end - renewBeforeMs > Date.now();
  const now = await kept(env, name);
  if (now === null) throw new AppError('signed_out', { url });
  if (fresh(now)) return now.access;
  return locked(env, name, async () => {
    // Another terminal may have renewed it meanwhile.
    const latest = await kept(env, name);
    if (latest === null) throw new AppError('signed_out', { url });
    if (fresh(latest)) return latest.access;
    const answer = await post(url, '/oauth/token', { grant_type: 'refresh_token', refresh_token: latest.refresh });
    const issued = issuedIn(answer, Date.now());
    if (issued === null) {
      if (answer !== null && answer.error !== 'invalid_grant')
        throw new AppError('server_unreachable', { detail: `${url}: ${answer.error ?? ''}` });
      throw new AppError('signed_out', { url });
    }
    await keep(env, name, issued);
    return issued.access;
  });
}

/** Ends it on both sides; a site that cannot be reached keeps a key that its user sees and can delete. */
export async function signOut(env: Environment, name: string, url: string): Promise<void> {
  const found = await kept(env, name);
  await forget(env, name);
  if (found === null) return;
  try {
    await post(url, '/oauth/revoke', { token: found.refresh, token_type_hint: 'refresh_token' });
  } catch {
    // It is signed out here; the key is listed in the console.
  }
}
