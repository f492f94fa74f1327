/** Commands that the nouns have in common: list, get, enable, disable, rm. */
import { type CommandRow, type CommandRun, dryRun, type Flag } from './command.ts';

const verbs = {
  list: { zh: (noun: Words) => `${noun.zh}列表`, en: (noun: Words) => `list ${noun.en}` },
  get: { zh: (noun: Words) => `${noun.zh}详情`, en: (noun: Words) => `show one ${noun.one}` },
  enable: { zh: (noun: Words) => `启用${noun.zh}`, en: (noun: Words) => `enable ${noun.en}` },
  disable: { zh: (noun: Words) => `禁用${noun.zh}`, en: (noun: Words) => `disable ${noun.en}` },
  rm: { zh: (noun: Words) => `删除${noun.zh}`, en: (noun: Words) => `delete ${noun.en}` },
};
type Verb = keyof typeof verbs;

interface Words {
  readonly zh: string;
  /** Several of them. */
  readonly en: string;
  readonly one: string;
}

interface Noun<Verbs extends Verb> extends Words {
  readonly name: string;
  /** What stands for it on the command line, `<id>`, and for several of them. */
  readonly argument: readonly [one: string, several: string];
  /** Two of these, for examples. */
  readonly samples: readonly [string, string];
  readonly flags?: Partial<Record<Verb, readonly Flag[]>>;
  /** A second example, instead of the usual one. */
  readonly example?: Partial<Record<Verb, string>>;
  /** The commands' work, by verb. */
  readonly load: () => Promise<Readonly<Record<Verbs, CommandRun>>>;
}

/** Verbs that change things take `--dry-run`. */
export const verbRows = <Verbs extends Verb>(
  noun: Noun<Verbs>,
  selected: readonly Verbs[],
): Readonly<Record<Verbs, CommandRow>> =>
  Object.fromEntries(
    selected.map((verb) => {
      const changes = verb !== 'list' && verb !== 'get';
      const [first, second] = verb === 'list' ? ['', ''] : noun.samples.map((sample) => ` ${sample}`);
      const usual = `${noun.name} ${verb}${second} ${verb === 'rm' ? '--yes' : '--json'}`;
      const row: CommandRow = {
        name: `${noun.name} ${verb}`,
        ...(verb === 'list' ? {} : { argument: noun.argument[changes ? 1 : 0] }),
        zh: verbs[verb].zh(noun),
        en: verbs[verb].en(noun),
        flags: [...(noun.flags?.[verb] ?? []), ...(changes ? [dryRun] : [])],
        examples: [`${noun.name} ${verb}${first}`, noun.example?.[verb] ?? usual],
        load: async () => (await noun.load())[verb],
      };
      return [verb, row];
    }),
  ) as Record<Verbs, CommandRow>;
