/** What a client reads of an answer until it ends or breaks off. */
export async function heardOf(response: Response): Promise<{ readonly text: string; readonly brokeOff: boolean }> {
  const decoder = new TextDecoder();
  let text = '';
  try {
    for await (const chunk of response.body ?? []) text += decoder.decode(chunk, { stream: true });
    return { text, brokeOff: false };
  } catch {
    return { text, brokeOff: true };
  }
}
