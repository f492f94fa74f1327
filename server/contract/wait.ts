/** How long something takes, in the largest two units that say it: nobody counts in 81,473 seconds. */
import type { Language } from './enum.ts';
import { textIn } from './language.ts';

const units = [
  { seconds: 86_400, en: 'days', zh: '天' },
  { seconds: 3600, en: 'hours', zh: '小时' },
  { seconds: 60, en: 'minutes', zh: '分钟' },
  { seconds: 1, en: 'seconds', zh: '秒' },
] as const;
/** Up to here seconds are read at a glance. */
const maxInSeconds = 120;

/** Rounded up: whoever comes back then is not too early. @param seconds of at least 0. */
export function waitIn(seconds: number, language: Language): string {
  const first = seconds <= maxInSeconds ? 3 : units.findIndex((unit) => seconds >= unit.seconds);
  const least = units[Math.min(first + 1, 3)]?.seconds ?? 1;
  let rest = Math.ceil(seconds / least) * least;
  const parts: string[] = [];
  for (const { seconds: of, en, zh } of units.slice(first === 3 ? 3 : 0, first + 2)) {
    const count = Math.floor(rest / of);
    rest -= count * of;
    if (count > 0 || (of === 1 && parts.length === 0)) parts.push(`${count} ${textIn({ zh, en }, language)}`);
  }
  return parts.join(' ');
}
