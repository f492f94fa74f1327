/** Figures of one process of a measurement, its own lateness among them: what is theirs must not be taken for the gateway's. */
import { share } from '../site.ts';
import type { Distribution } from './messages.ts';

export const distributionOf = (values: readonly number[]): Distribution => ({
  p50: share(values, 0.5),
  p99: share(values, 0.99),
  max: share(values, 1),
});

const beatMs = 2;

/** Beats of this process's loop, those that were missed among them. @returns how late they were since it began or was asked. */
export function watchLoop(): () => Distribution {
  const lateness: number[] = [];
  let before = performance.now();
  const beats = setInterval(() => {
    const now = performance.now();
    for (let ms = now - before - beatMs; ms > 0; ms -= beatMs) lateness.push(ms);
    lateness.push(0);
    before = now;
  }, beatMs);
  beats.unref();
  return () => distributionOf(lateness.splice(0));
}
