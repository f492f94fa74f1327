/** Which e-mail addresses are taken. */
import { AppError } from '../../contract/errors.ts';
import type { OptionsService } from '../options/service.ts';

const maxLength = 50;
const shape = /^[^\s@,;<>"()]+@[^\s@,;<>"()]+\.[^\s@,;<>"().]{2,}$/;

export const isEmail = (text: string): boolean => text.length <= maxLength && shape.test(text);

/** @returns the address as it is kept. @throws AppError email_invalid, email_domain, email_alias. */
export function checkEmail(given: string, options: OptionsService): string {
  const email = given.trim();
  if (!isEmail(email)) throw new AppError('email_invalid');
  const at = email.lastIndexOf('@');
  const domain = email.slice(at + 1).toLowerCase();
  if (options.get('EmailDomainRestrictionEnabled')) {
    const allowed = options.get('EmailDomainWhitelist').map((one) => one.toLowerCase());
    if (!allowed.includes(domain)) throw new AppError('email_domain');
  }
  if (options.get('EmailAliasRestrictionEnabled') && /[+.]/.test(email.slice(0, at))) throw new AppError('email_alias');
  return email;
}
