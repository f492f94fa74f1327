/** The inviter's code from the link, kept until the reader registers. */
const key = 'aff';

export function storeInviteCode(code: string | null): void {
  if (code !== null && code !== '') localStorage.setItem(key, code);
}

export const inviteCode = (): string => localStorage.getItem(key) ?? '';
