/** Three bars carry the grade, the number the value. */
import { secondsText } from '../../lib/format.ts';

const ratingOf = (ms: number): { readonly bars: number; readonly color: string } =>
  ms <= 1000
    ? { bars: 3, color: 'bg-success-solid' }
    : ms <= 3000
      ? { bars: 2, color: 'bg-success-solid' }
      : ms <= 5000
        ? { bars: 2, color: 'bg-warning' }
        : { bars: 1, color: 'bg-danger-solid' };

export function ResponseTime({ ms, untested }: { readonly ms: number; readonly untested: string }) {
  if (ms === 0) return <span className="text-ink-3">{untested}</span>;
  const { bars, color } = ratingOf(ms);
  return (
    <span className="inline-flex items-baseline gap-1.5">
      <span className="flex h-3 items-end gap-px self-center" aria-hidden="true">
        {[1, 2, 3].map((bar) => (
          <span
            key={bar}
            className={`w-[3px] rounded-[1px] ${bar <= bars ? color : 'bg-line-strong'}`}
            style={{ height: 2 + bar * 3 }}
          />
        ))}
      </span>
      {secondsText(ms)}
      <span className="text-[11px] text-ink-3">s</span>
    </span>
  );
}
