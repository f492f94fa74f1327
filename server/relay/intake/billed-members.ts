/** Members that the meter or the router reads, and names that another parser may take for one of them. */
import { AppError } from '../../contract/errors.ts';
import { allCodecs } from '../../protocols/registry.ts';
import { foldedName } from '../../protocols/shared/member-name.ts';

/** Also those whose words are checked or counted: read differently upstream they are as good as unread. */
const common = [
  'model',
  'models',
  'fallbacks',
  'fallback_models',
  'n',
  'best_of',
  'stream',
  'stream_options',
  'reasoning_effort',
  'size',
  'quality',
  'duration',
  'seconds',
  'resolution',
  'response_format',
  'service_tier',
  'speed',
  'inference_geo',
  'background',
  'deferred',
  'previous_response_id',
  'conversation',
  'container',
  'group',
  'messages',
  'system',
  'prompt',
  'input',
  'instructions',
  'contents',
  'requests',
  'tools',
] as const;

const traits = allCodecs.map((codec) => codec.traits);
/** Objects of the dialects that say how long an answer may get, how much is thought, or what else is billed. */
export const billedObjects: readonly string[] = traits.flatMap(({ limit, gate }) => [
  ...(limit.nested?.objects ?? limit.thoughts.map(([object]) => object)),
  ...(gate?.objects ?? []),
]);
const billed: readonly string[] = [
  ...common,
  ...billedObjects,
  ...traits.flatMap(({ limit, gate }) => [...limit.names, ...(gate?.names ?? [])]),
];

/** What a container of limits may hold twice in no spelling. */
const inContainer: readonly string[] = [
  'imageConfig',
  'image_config',
  'responseModalities',
  'response_modalities',
  'include_usage',
  'type',
  'effort',
  ...traits.flatMap(({ limit: { nested, thoughts }, gate }) => [
    ...(nested?.names ?? []),
    ...(nested?.choices ?? []),
    ...thoughts.map(([object, member]) => (nested === undefined ? member : object)),
    ...(gate?.inObjects ?? []),
  ]),
];

const foldsOf = (names: readonly string[]): ReadonlyMap<string, ReadonlySet<string>> => {
  const folds = new Map<string, Set<string>>();
  for (const name of names) {
    const folded = foldedName(name);
    folds.set(folded, (folds.get(folded) ?? new Set()).add(name));
  }
  return folds;
};

const known = foldsOf(billed);
const knownInContainer = foldsOf(inContainer);
const knownInForm = foldsOf([...billed, 'file', '_charset_']);
/** Some read `max_tokens` and `maxTokens` alike. */
const unscored = (folded: string): string => folded.replaceAll('_', '');
const spellings: ReadonlySet<string> = new Set([...known.keys(), ...knownInContainer.keys()].map(unscored));

const misread = (name: string, like: string): AppError =>
  new AppError('body_invalid', { detail: `${JSON.stringify(name)} could be read as ${like}` });

function checkName(name: string, folded: string, folds: ReadonlyMap<string, ReadonlySet<string>>): void {
  const exact = folds.get(folded);
  if (exact === undefined || exact.has(name)) return;
  throw misread(name, [...exact][0] ?? folded);
}

/** Two spellings of one billed name are one name to somebody. @throws AppError body_invalid. */
export function checkMemberNames(members: readonly { readonly key: string }[], within: 'body' | 'container'): void {
  const folds = within === 'body' ? known : knownInContainer;
  const seen = new Set<string>();
  for (const { key: name } of members) {
    const folded = foldedName(name);
    checkName(name, folded, folds);
    const spelled = unscored(folded);
    if (!spellings.has(spelled)) continue;
    if (seen.has(spelled)) throw new AppError('body_invalid', { detail: `${name} appears twice` });
    seen.add(spelled);
  }
}

/**
 * Form readers make lists and objects of `n[]` and `n[0]`, and an underscore of a dot.
 * @returns whether the field may come only once. @throws AppError body_invalid.
 */
export function checkFieldName(name: string): boolean {
  const [base = ''] = name.split('[', 1);
  const folded = foldedName(base.replaceAll(/[.-]/g, '_'));
  const exact = knownInForm.get(folded);
  if (exact === undefined) return false;
  if (!exact.has(name)) throw misread(name, [...exact][0] ?? folded);
  return true;
}
