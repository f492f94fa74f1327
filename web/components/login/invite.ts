/** The inviter's code from the link, kept until the reader registers. */
import { storedName } from '../../lib/base-path.ts';

const key = storedName('aff');

export function storeInviteCode(code: string | null): void {
  if (code !== null && code !== '') localStorage.setItem(key, code);
}

/** As it is typed; empty = none. */
export const typeInviteCode = (code: string): void => localStorage.setItem(key, code.trim());

export const inviteCode = (): string => localStorage.getItem(key) ?? '';
