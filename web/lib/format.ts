/** Times and the clipboard. */

const two = (value: number): string => String(value).padStart(2, '0');

/** yyyy-MM-dd HH:mm:ss in the reader's own time zone. */
export function dateTime(seconds: number): string {
  const at = new Date(seconds * 1000);
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}

const minuteSeconds = 60;
const hourSeconds = 3600;
const daySeconds = 86_400;

/** How long something took, in the two largest units that say it. @param seconds may have a fraction. */
export function duration(seconds: number): string {
  if (seconds < minuteSeconds) return `${seconds.toFixed(1)} s`;
  const [large, small, big, little] =
    seconds < hourSeconds
      ? [minuteSeconds, 1, 'min', 's']
      : seconds < daySeconds
        ? [hourSeconds, minuteSeconds, 'h', 'min']
        : [daySeconds, hourSeconds, 'd', 'h'];
  const whole = Math.floor(seconds / large);
  const rest = Math.floor((seconds - whole * large) / small);
  return rest === 0 ? `${whole} ${big}` : `${whole} ${big} ${rest} ${little}`;
}

/** @returns false when the browser does not allow it; then the text is shown for copying by hand. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}
