/** What a reload brings back: models, settings and turns. */
import { storedName } from '../../lib/base-path.ts';
import { defaultSettings, noAnswer, type Settings, type Turn } from './conversation.ts';

export interface Kept {
  /** One to three; '' = the account's first. */
  readonly models: readonly string[];
  readonly settings: Settings;
  readonly turns: readonly Turn[];
}

const key = storedName('playground');
export const maxModels = 3;
const fresh: Kept = { models: [''], settings: defaultSettings, turns: [] };

/** Nothing answers any more after a reload. */
const ended = (turn: Turn): Turn => ({
  ...turn,
  files: turn.files ?? [],
  answers: turn.answers.map((answers) =>
    answers.map((answer) => ({
      ...noAnswer,
      ...answer,
      // Where an upstream counted its calls from 1, the first place is empty.
      calls: (answer.calls ?? []).filter((call) => call !== null),
      state: answer.state === 'loading' ? ('stopped' as const) : answer.state,
    })),
  ),
});

export function readKept(): Kept {
  try {
    const kept = JSON.parse(localStorage.getItem(key) ?? '') as Partial<Kept>;
    const models = (kept.models ?? []).slice(0, maxModels);
    return {
      models: models.length === 0 ? fresh.models : models,
      settings: { ...defaultSettings, ...kept.settings },
      turns: (kept.turns ?? []).map(ended),
    };
  } catch {
    return fresh;
  }
}

/** Files that do not fit are left out, then the oldest turns. */
export function writeKept(kept: Kept): void {
  const bare = (turn: Turn): Turn => ({ ...turn, files: turn.files.map((file) => ({ ...file, data: '' })) });
  const tries = [kept, { ...kept, turns: kept.turns.map(bare) }, { ...kept, turns: [] }];
  for (const one of tries) {
    try {
      localStorage.setItem(key, JSON.stringify(one));
      return;
    } catch {
      // Too large.
    }
  }
}
