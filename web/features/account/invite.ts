/** Who invited the visitor, kept until there is an account. */
const key = 'aff';

export function keepInvitation(code: string | null): void {
  if (code !== null && code !== '') localStorage.setItem(key, code);
}

export const invitation = (): string => localStorage.getItem(key) ?? '';
