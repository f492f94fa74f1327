/** The family's fixed ratios of sound, used where no table names the model. */

const rules: readonly (readonly [matches: (model: string) => boolean, ratio: number])[] = [
  [(m) => m.includes('-realtime') && m.endsWith('gpt-4o-realtime-preview-2024-12-17'), 8],
  [(m) => m.includes('-realtime') && m.includes('mini'), 50 / 3],
  [(m) => m.includes('-realtime'), 20],
  [(m) => m.includes('-audio') && m.endsWith('gpt-4o-audio-preview-2024-12-17'), 16],
  [(m) => m.includes('-audio') && m.includes('mini'), 200 / 3],
  [(m) => m.includes('-audio'), 40],
];

/** Sound read, against a text token read. */
export const familyAudioRatio = (model: string): number | undefined => rules.find(([matches]) => matches(model))?.[1];
