/** The family's fixed ratios of sound, used where no table names the model. */

const rules: readonly (readonly [matches: (model: string) => boolean, ratio: number])[] = [
  [(m) => m.includes('-realtime') && m.endsWith('gpt-4o-realtime-preview-2024-12-17'), 8],
  [(m) => m.includes('-realtime') && m.includes('mini'), 50 / 3],
  [(m) => m.includes('-realtime'), 20],
  [(m) => m.includes('-audio') && m.endsWith('gpt-4o-audio-preview-2024-12-17'), 16],
  [(m) => m.includes('-audio') && m.includes('mini'), 200 / 3],
  [(m) => m.includes('-audio'), 40],
];

export interface AudioRatios {
  /** Sound read, against a text token read. */
  readonly input: number;
  /** Sound written, against sound read. */
  readonly output: number;
}

/** @returns null for models without a price for sound: their sound costs what text costs. */
export function audioRatioFor(
  model: string,
  configured: number | undefined,
  completion: number | undefined,
): AudioRatios | null {
  const fixed = configured ?? rules.find(([matches]) => matches(model))?.[1];
  if (fixed === undefined && completion === undefined) return null;
  return { input: Math.round((fixed ?? 1) * 1e6) / 1e6, output: completion ?? 2 };
}
