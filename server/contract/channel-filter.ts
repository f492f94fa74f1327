/** `status=enabled,group=vip`: which channels a bulk command means. Pure. */
import type { Channel } from './entities.ts';
import { AppError } from './errors.ts';

const statusWords: Readonly<Record<number, string>> = { 1: 'enabled', 2: 'disabled', 3: 'auto-disabled' };
export const statusWord = (status: number): string => statusWords[status] ?? 'unknown';

type Filtered = Pick<Channel, 'status' | 'group' | 'models' | 'type' | 'tag' | 'name'>;

const fields: Readonly<Record<string, (channel: Filtered) => readonly string[]>> = {
  status: ({ status }) => [statusWord(status)],
  group: ({ group }) => group.split(','),
  model: ({ models }) => models.split(','),
  type: ({ type }) => [String(type)],
  tag: ({ tag }) => [tag],
  name: ({ name }) => [name],
};

/** All conditions must hold; a list has a word when one of its members is the word. @throws AppError params_invalid */
export function channelFilter(filter: string): (channel: Filtered) => boolean {
  const conditions = filter.split(',').map((condition) => {
    const at = condition.indexOf('=');
    const [field, word] = at < 0 ? ['', ''] : [condition.slice(0, at).trim(), condition.slice(at + 1).trim()];
    const valuesOf = Object.hasOwn(fields, field) ? fields[field] : undefined;
    if (valuesOf === undefined || word === '')
      throw new AppError('params_invalid', { detail: `filter ${condition}: ${Object.keys(fields).join(', ')}` });
    return (channel: Filtered) => valuesOf(channel).includes(word);
  });
  return (channel) => conditions.every((holds) => holds(channel));
}
