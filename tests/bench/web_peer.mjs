// The released web client on the same server, one conversation a line of stdin: it asks, answers the open call, and
// writes when the answer was given, by the machine's clock, in nanoseconds.
import { HttpAgent } from "@ag-ui/client";
import { createInterface } from "node:readline";

const message = (role, content) => ({ id: crypto.randomUUID(), role, content });

for await (const line of createInterface({ input: process.stdin })) {
  const { url, tools, history } = JSON.parse(line);
  const agent = new HttpAgent({ url, threadId: crypto.randomUUID() });
  for (let at = 0; at < history; at += 1) agent.addMessage(message(at % 2 ? "assistant" : "user", `Said before, ${at}. ` + "word ".repeat(36)));
  agent.addMessage(message("user", "Where to?"));
  await agent.runAgent({ tools });
  const call = agent.messages.flatMap((it) => it.toolCalls ?? [])[0];
  const answered = process.hrtime.bigint();
  agent.setMessages([...agent.messages, { ...message("tool", "Ulm"), toolCallId: call.id }]);
  await agent.runAgent({ tools });
  process.stdout.write(`${answered}\n`);
}
