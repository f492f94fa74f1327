/** Who invited the visitor, kept until there is an account. */
const key = 'aff';

export function storeInviteCode(code: string | null): void {
  if (code !== null && code !== '') localStorage.setItem(key, code);
}

export const inviteCode = (): string => localStorage.getItem(key) ?? '';
