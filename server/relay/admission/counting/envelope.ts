/** Text that providers put around the words of a prompt, for a count that is made here. It is not charged: it is measured by `scripts/lab/measure/count-error.ts`, not promised. */
import { type Prompt, readPrompt, unitsOf } from '../../intake/prompt.ts';

type Body = Readonly<Record<string, unknown>>;

const perTurn = 4;
/** One turn and the beginning of the answer are in the count of the words. */
const counted = 3;
const perTools = 11;
/** Characters of names and types in a token of what becomes of a schema. */
const nameUnits = 10;

/** Members that hold turns, and those that are one. */
const lists = ['messages', 'contents', 'input'] as const;
const single = ['system', 'instructions', 'systemInstruction'] as const;

export function tokensAround(body: Body): number {
  const content = lists.map((name) => body[name]).find((value) => value !== undefined);
  const alone = single.filter((name) => body[name] !== undefined && body[name] !== null).length;
  const turns = (Array.isArray(content) ? content.length : 1) + alone;
  const { tools } = body;
  const named =
    Array.isArray(tools) && tools.length > 0 ? perTools + unitsOf(readPrompt({ tools }).objectFrame) / nameUnits : 0;
  return Math.max(0, Math.ceil(perTurn * turns - counted + named));
}

/** The words alone; what stands round them is what `tokensAround` guesses. */
export const plainWords = ({ texts, objectTexts }: Prompt): Pick<Prompt, 'texts' | 'frame' | 'marks' | 'objects'> => ({
  texts: [[...texts, ...objectTexts].join('\n')],
  frame: [],
  marks: [],
  objects: [],
});
