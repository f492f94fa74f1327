/** Questions to a person: drawn where the terminal can be drawn on, plain lines everywhere else. */
import type { Context } from '../context.ts';
import type { Question, QuestionWords, Surface } from './question.ts';

const wordsOf = ({ say }: Context): QuestionWords => ({
  noMatch: say('没有匹配项：退格删除，或用 ↑↓ 选择', 'nothing matches: delete with Backspace, then choose with ↑ ↓'),
  severalHint: say('空格选择 · 输入以筛选 · 回车完成', 'Space selects · type to narrow · Enter when done'),
  selected: (names) => say(`已选 ${names.length} 个：`, `${names.length} selected: `) + names.join(', '),
  lines: (count) => say(`${count} 个，回车确认`, `${count} of them, Enter takes them`),
  needed: say('请输入', 'an answer is needed'),
  oneLine: say('粘贴了多行，此处只能一行', 'several lines were pasted: only one fits here'),
  all: say('全部', 'all'),
});

/** The questions of one form, counted as they are asked. */
export class Form {
  readonly #surface: Surface;
  #total: number;
  #asked = 0;

  constructor(surface: Surface, total: number) {
    this.#surface = surface;
    this.#total = total;
  }

  /** @param by how many more questions there are, or with a minus fewer, than was said. */
  expect(by: number): void {
    this.#total += by;
  }

  /** @throws AppError cancelled, input_needed. */
  ask(question: Question): Promise<string> {
    this.#asked++;
    return this.#surface.ask({ ...question, step: `${this.#asked}/${this.#total}` });
  }

  /** The last questions are asked once more: their numbers come again. */
  repeat(questions: number): void {
    this.#asked -= questions;
  }

  /** A question that only comes up where something went wrong: it is not counted. */
  askRest(question: Question): Promise<string> {
    return this.#surface.ask(question);
  }

  note(text: string): void {
    this.#surface.note(text);
  }

  during<Result>(work: Promise<Result>, doing: string): Promise<Result> {
    return this.#surface.during(work, doing);
  }
}

/** Opens a form, fills it in and takes it down again, however it ends. @param total questions, as far as is known. */
export async function inForm<Result>(
  context: Context,
  total: number,
  fill: (form: Form) => Promise<Result>,
): Promise<Result> {
  const surface = context.screens
    ? new (await import('../screens/form.tsx')).TerminalForm(wordsOf(context))
    : plainSurface(context);
  try {
    return await fill(new Form(surface, total));
  } finally {
    await surface.close();
  }
}

const plainSurface = (context: Context): Surface => ({
  ask: (question) => plainAnswer(context, question),
  note: context.output.note,
  during: (work, doing) => context.during(work, () => doing),
  close: () => Promise.resolve(),
});

const maxListed = 8;

async function plainAnswer(context: Context, question: Question): Promise<string> {
  const { choices, fallback, step, hint } = question;
  const listed = choices !== undefined && choices.length <= maxListed;
  if (hint !== undefined) context.output.note(`  ${hint}`);
  if (listed) for (const [index, choice] of choices.entries()) context.output.note(`  ${index + 1}  ${choice.label}`);
  const before = step === undefined ? '' : `${step} `;
  const suffix = fallback === undefined ? '' : ` (${fallback})`;
  for (;;) {
    const typed = await context.ask(`${before}${question.label}${suffix}: `, {
      hidden: question.secret === true,
      list: question.lines === true,
    });
    const answer = promptText(question, typed.trim() || fallback || '', listed);
    const wrong = answer === null ? choiceHint(context, question, listed) : issueOf(context, question, answer);
    if (wrong === null && answer !== null) return answer;
    if (wrong !== null) context.output.note(wrong);
  }
}

/** @returns null = not among the choices. */
function promptText({ choices, several, open, optional }: Question, text: string, listed: boolean): string | null {
  if (choices === undefined || (text === '' && optional === true)) return text;
  const chosenBy = (word: string) =>
    choices.find((choice) => choice.value === word)?.value ?? (listed ? choices[Number(word) - 1]?.value : undefined);
  const words = several === true ? text.split(/[,\s]+/).filter((word) => word !== '') : [text];
  const found = words.map((word) => chosenBy(word) ?? (open === true ? word : null));
  return text === '' || found.includes(null) ? null : found.join(',');
}

function choiceHint({ say }: Context, { choices = [] }: Question, listed: boolean): string {
  const names = choices.map((choice) => choice.value).join(', ');
  return listed
    ? say(
        `请输入编号 1-${choices.length} 或名称：${names}`,
        `write a number from 1 to ${choices.length}, or a name: ${names}`,
      )
    : say(`请输入其中之一：${names}`, `write one of: ${names}`);
}

const issueOf = (context: Context, { check, optional, fallback }: Question, answer: string): string | null =>
  answer === '' && optional !== true && fallback === undefined ? wordsOf(context).needed : (check?.(answer) ?? null);
