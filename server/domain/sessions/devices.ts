/** Browsers that were logged in to an account before. An encrypted cookie proves it and exempts them from the rate limits of unknown clients. It does not log in. */
import { createHash, randomBytes } from 'node:crypto';
import type { Vault } from '../secrets/vault.ts';

export const deviceSeconds = 180 * 24 * 3600;
/** Accounts one browser is remembered for. */
const maxAccounts = 5;
const purpose = 'device';

interface DeviceOwner {
  readonly id: number;
  readonly password_hash: string;
}

/** Account, name of the browser there, mark of the password, epoch seconds. */
type Entry = readonly [userId: number, name: string, mark: string, at: number];

export type Devices = ReturnType<typeof createDevices>;

/** A new password forgets every browser. */
const markOf = ({ password_hash: hash }: DeviceOwner): string =>
  createHash('sha256').update(hash).digest('base64url').slice(0, 16);

/** @param now epoch milliseconds. */
export function createDevices(vault: Vault, now: () => number) {
  const seconds = () => Math.floor(now() / 1000);
  const read = (cookie: string): readonly Entry[] => {
    if (cookie === '') return [];
    try {
      const entries = JSON.parse(vault.open(purpose, cookie)) as readonly Entry[];
      return entries.filter(([, , , at]) => at + deviceSeconds > seconds());
    } catch {
      return [];
    }
  };
  const find = (entries: readonly Entry[], user: DeviceOwner): Entry | undefined =>
    entries.find(([id, , mark]) => id === user.id && mark === markOf(user));
  return {
    /** @param cookie '' = none. @returns the name of the browser at this account, '' = it was never inside. */
    nameOf: (cookie: string, user: DeviceOwner | undefined): string =>
      user === undefined ? '' : (find(read(cookie), user)?.[1] ?? ''),
    /** @returns the cookie with this account in it. */
    store(cookie: string, user: DeviceOwner): string {
      const entries = read(cookie);
      const name = find(entries, user)?.[1] ?? randomBytes(9).toString('base64url');
      const others = entries.filter(([id]) => id !== user.id).slice(0, maxAccounts - 1);
      return vault.encrypt(purpose, JSON.stringify([[user.id, name, markOf(user), seconds()], ...others]));
    },
  };
}
