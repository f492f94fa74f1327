/** Lengths of what people type about themselves, counted in characters. */
import { AppError } from '../../contract/errors.ts';

export const maxUsernameLength = 12;
const minPasswordLength = 8;
const maxPasswordLength = 20;
const maxDisplayNameLength = 20;

/** Controls, marks that turn the direction, joiners, fillers and spaces that are none: names that look like others'. */
const invisible = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]|[^\S ]|[\u2800]/u;

const lengthOf = (text: string): number => [...text].length;

const reject = (zh: string, en: string): never => {
  throw new AppError('input_invalid', { zh, en });
};

/** Names of imported accounts may be longer than those that are made here. */
const maxKnownNameLength = 64;

/** A name that exists elsewhere already, at the source of an import or of a declarative file. @throws AppError input_invalid */
export const checkKnownUsername = (given: string): string => checkName(given, maxKnownNameLength);

/** @returns the name without surrounding space. @throws AppError input_invalid */
export function checkUsername(given: string): string {
  const name = checkName(given, maxUsernameLength);
  // At the login a name and an address are typed into the same field.
  if (name.includes('@')) reject('用户名不能包含 @', 'the username must not contain @');
  // Wide letters, ligatures and circled numbers are read as the plain ones: such a name is the double of another.
  if (name.normalize('NFKC') !== name)
    reject(
      `用户名不能包含全角字母等兼容字符，请改为 ${name.normalize('NFKC')}`,
      `the username must not contain full-width or other compatibility characters; use ${name.normalize('NFKC')}`,
    );
  return name;
}

function checkName(given: string, maxLength: number): string {
  const name = given.normalize('NFC').trim();
  if (invisible.test(name))
    reject('用户名不能包含不可见或控制字符', 'the username must not contain invisible or control characters');
  if (name === '' || lengthOf(name) > maxLength)
    reject(`用户名长度须为 1 到 ${maxLength} 个字符`, `the username needs 1 to ${maxLength} characters`);
  return name;
}

/** @throws AppError input_invalid */
export function checkPassword(password: string): void {
  const length = lengthOf(password);
  if (length < minPasswordLength || length > maxPasswordLength)
    reject(
      `密码长度须为 ${minPasswordLength} 到 ${maxPasswordLength} 个字符`,
      `the password needs ${minPasswordLength} to ${maxPasswordLength} characters`,
    );
}

/** @throws AppError input_invalid */
export function checkDisplayName(given: string): string {
  const name = given.trim();
  if (lengthOf(name) > maxDisplayNameLength)
    reject(
      `显示名称不能超过 ${maxDisplayNameLength} 个字符`,
      `the display name may have at most ${maxDisplayNameLength} characters`,
    );
  return name;
}
