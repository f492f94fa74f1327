/** A program's sign-in to a remote gateway: asked for by a code, kept in the system's keyring or a 0600 file, renewed silently. */
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
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
  readonly verification_uri_complete?: string;
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
const lockWaitMs = 25_000;
/** Longer than a renewal takes: whoever holds it so long is gone, or another machine of the same home stopped. */
const lockStaleMs = 20_000;

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

const later: Answer = { error: 'authorization_pending' };

const issuedIn = (answer: Answer | null, now: number): SignedIn | null => {
  const { access_token: access, refresh_token: refresh, expires_in: seconds, user } = answer ?? {};
  if (access === undefined || refresh === undefined || seconds === undefined || user === undefined) return null;
  return { access, refresh, end: now + seconds * 1000, user };
};

/** Asks for a code, shows it, waits. @param show address of the page with the code in it, and the code. @returns null where the site lets no program sign in. @throws AppError cancelled, signed_out, server_unreachable */
export async function signIn(
  url: string,
  host: string,
  show: (address: string, code: string) => void,
): Promise<SignedIn | null> {
  const begun = await post(url, '/oauth/device_authorization', { client_id: 'gateway', host });
  if (begun === null) return null;
  const { device_code: device, user_code: code, verification_uri: page = '' } = begun;
  if (begun.error === 'slow_down') throw new AppError('too_many_attempts');
  if (device === undefined || code === undefined || page === '')
    throw new AppError('server_unreachable', { detail: `${url}: ${begun.error ?? 'no code'}` });
  show(begun.verification_uri_complete ?? page, code);
  let interval = begun.interval ?? 5;
  const until = Date.now() + (begun.expires_in ?? 600) * 1000;
  while (Date.now() < until) {
    await Bun.sleep(interval * 1000);
    const form = { grant_type: deviceGrant, device_code: device, client_id: 'gateway' };
    // A server that starts anew, or a network that changes, is asked again: RFC 8628 3.5.
    const answer = await post(url, '/oauth/token', form).catch(() => later);
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

/** What cannot be read counts as nothing: the next sign-in replaces it. */
async function kept(env: Environment, name: string): Promise<Kept | null> {
  const file = fileOf(env, name);
  try {
    if (existsSync(file)) return JSON.parse(readFileSync(file, 'utf8')) as Kept;
    const value = mayUseKeyring(env) ? await Bun.secrets.get({ service, name }) : null;
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
      writeFileSync(file, String(process.pid), { flag: 'wx', mode: 0o600 });
      break;
    } catch (error) {
      if ((error as { code?: string }).code !== 'EEXIST') throw error;
      if (isAbandoned(file)) rmSync(file, { force: true });
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

/** An agent that waits no longer kills the process that renews, and the next one does not wait for it. */
function isAbandoned(file: string): boolean {
  try {
    if (Date.now() - statSync(file).mtimeMs > lockStaleMs) return true;
    const holder = Number(readFileSync(file, 'utf8'));
    // It may be about to write its number.
    if (!(holder > 0)) return false;
    process.kill(holder, 0);
    return false;
  } catch (error) {
    // Of another user it is alive (EPERM), and a file that is gone is nobody's (ENOENT).
    return (error as { code?: string }).code === 'ESRCH';
  }
}

/** @returns what came before while its token still works and the site cannot be reached; null = the site ended it. @throws AppError server_unreachable */
async function renew(url: string, former: Kept): Promise<Kept | null> {
  try {
    const answer = await post(url, '/oauth/token', { grant_type: 'refresh_token', refresh_token: former.refresh });
    const issued = issuedIn(answer, Date.now());
    if (issued !== null) return issued;
    if (answer === null || answer.error === 'invalid_grant') return null;
    throw new AppError('server_unreachable', { detail: `${url}: ${answer.error ?? ''}` });
  } catch (error) {
    if (former.end > Date.now()) return former;
    throw error;
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
    const renewed = await renew(url, latest);
    if (renewed !== null) {
      if (renewed !== latest) await keep(env, name, renewed);
      return renewed.access;
    }
    // Another machine of the same home, or a program whose lock was taken for abandoned, may have been faster.
    const other = await kept(env, name);
    if (other !== null && other.refresh !== latest.refresh && other.end > Date.now()) return other.access;
    throw new AppError('signed_out', { url });
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
