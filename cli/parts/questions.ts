/** Questions to a person: drawn where the terminal can be drawn on, plain lines everywhere else. */
import type { Context } from '../context.ts';
import type { Question } from './question.ts';

/** @throws AppError cancelled, input_needed. */
export async function answerTo(context: Context, question: Question): Promise<string> {
  if (!context.screens) return plainAnswer(context, question);
  const [{ stage }, { QuestionScreen }, { createElement }] = await Promise.all([
    import('../screens/stage.tsx'),
    import('../screens/question.tsx'),
    import('react'),
  ]);
  const answer = await stage<string>((onAnswer) => createElement(QuestionScreen, { question, onAnswer }));
  return answer ?? '';
}

const mostListed = 8;

async function plainAnswer(context: Context, question: Question): Promise<string> {
  const { choices, fallback } = question;
  const listed = choices !== undefined && choices.length <= mostListed;
  if (listed) for (const [index, choice] of choices.entries()) context.output.note(`  ${index + 1}  ${choice.label}`);
  for (;;) {
    const hint = fallback === undefined ? '' : ` (${fallback})`;
    const text = (await context.ask(`${question.label}${hint}: `, question.secret)).trim() || fallback || '';
    if (choices === undefined) {
      if (text !== '' || question.optional === true) return text;
      continue;
    }
    const chosen = choices.find((choice) => choice.value === text) ?? (listed ? choices[Number(text) - 1] : undefined);
    if (chosen !== undefined) return chosen.value;
    context.output.note(choices.map((choice) => choice.value).join(', '));
  }
}
