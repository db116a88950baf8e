"""Agents of Python frameworks, each as its documentation has it: one tool, one task, one answer on stdout."""

import asyncio
import json
import os
import sys

TASK = os.environ["AGENT_TASK"]
PLACES = {"north": "FOUND-COPPER", "south": "FOUND-AMBER"}
SCHEMA = {"type": "object", "properties": {"place": {"type": "string"}}, "required": ["place"]}


def look(place: str) -> str:
    """Look somewhere.

    Args:
        place: north or south
    """
    return PLACES.get(place, "nothing")


def openai_chat(stream: bool = False) -> str:
    from openai import OpenAI

    client = OpenAI()
    tools = [{"type": "function", "function": {"name": "look", "description": "Look.", "parameters": SCHEMA}}]
    messages = [{"role": "user", "content": TASK}]
    while True:
        asked = {"model": "policy", "messages": messages, "tools": tools}
        if stream:
            with client.chat.completions.stream(**asked) as events:
                for _ in events:
                    pass
                message = events.get_final_completion().choices[0].message
        else:
            message = client.chat.completions.create(**asked).choices[0].message
        messages.append(message.model_dump(exclude_none=True))
        if not message.tool_calls:
            return message.content
        for call in message.tool_calls:
            result = look(**json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})


def openai_responses() -> str:
    from openai import OpenAI

    client = OpenAI()
    tools = [{"type": "function", "name": "look", "description": "Look.", "parameters": SCHEMA}]
    items: list = [{"role": "user", "content": TASK}]
    while True:
        with client.responses.stream(model="policy", input=items, tools=tools) as events:
            for _ in events:
                pass
            response = events.get_final_response()
        items += [item.model_dump(exclude_none=True) for item in response.output]
        calls = [item for item in response.output if item.type == "function_call"]
        if not calls:
            return response.output_text
        for call in calls:
            result = look(**json.loads(call.arguments))
            items.append({"type": "function_call_output", "call_id": call.call_id, "output": result})


def anthropic(stream: bool = False) -> str:
    from anthropic import Anthropic

    client = Anthropic()
    tools = [{"name": "look", "description": "Look.", "input_schema": SCHEMA}]
    messages: list = [{"role": "user", "content": TASK}]
    while True:
        asked = {"model": "policy", "max_tokens": 1024, "messages": messages, "tools": tools}
        if stream:
            with client.messages.stream(**asked) as events:
                message = events.get_final_message()
        else:
            message = client.messages.create(**asked)
        messages.append({"role": "assistant", "content": message.content})
        calls = [block for block in message.content if block.type == "tool_use"]
        if not calls:
            return "".join(block.text for block in message.content if block.type == "text")
        results = [{"type": "tool_result", "tool_use_id": call.id, "content": look(**call.input)} for call in calls]
        messages.append({"role": "user", "content": results})


def mini() -> str:
    import yaml
    from minisweagent import package_dir
    from minisweagent.agents.default import DefaultAgent
    from minisweagent.environments.local import LocalEnvironment
    from minisweagent.models.litellm_model import LitellmModel

    config = yaml.safe_load((package_dir / "config" / "mini.yaml").read_text())
    settings = {"model_name": "openai/policy", "cost_tracking": "ignore_errors"}
    model = LitellmModel(**{**config.get("model", {}), **settings})
    known = {"system_template", "instance_template", "step_limit", "cost_limit"}
    agent = {key: value for key, value in config["agent"].items() if key in known}
    result = DefaultAgent(model, LocalEnvironment(), **{**agent, "cost_limit": 0.0, "step_limit": 9}).run(TASK)
    return json.dumps(result) if isinstance(result, dict) else str(result)


def openai_agents(style: str) -> str:
    from agents import (
        Agent,
        OpenAIChatCompletionsModel,
        OpenAIResponsesModel,
        Runner,
        function_tool,
        set_tracing_disabled,
    )
    from openai import AsyncOpenAI

    set_tracing_disabled(True)
    kind = OpenAIChatCompletionsModel if style == "chat" else OpenAIResponsesModel
    model = kind(model="policy", openai_client=AsyncOpenAI())
    agent = Agent(name="looker", instructions="Be brief.", tools=[function_tool(look)], model=model)

    async def go() -> str:
        if style == "chat":
            return (await Runner.run(agent, TASK)).final_output
        streamed = Runner.run_streamed(agent, TASK)
        async for _ in streamed.stream_events():
            pass
        return streamed.final_output

    return asyncio.run(go())


def pydantic(style: str) -> str:
    from pydantic_ai import Agent

    if style == "chat":
        from pydantic_ai.models.openai import OpenAIChatModel as Model
    else:
        from pydantic_ai.models.anthropic import AnthropicModel as Model
    agent = Agent(Model("policy"), instructions="Be brief.", tools=[look])
    return agent.run_sync(TASK).output


def langchain() -> str:
    from langchain.agents import create_agent
    from langchain_openai import ChatOpenAI

    agent = create_agent(ChatOpenAI(model="policy"), tools=[look], system_prompt="Be brief.")
    return agent.invoke({"messages": [{"role": "user", "content": TASK}]})["messages"][-1].content


def smolagents() -> str:
    from smolagents import CodeAgent, OpenAIServerModel, tool

    model = OpenAIServerModel(
        model_id="policy", api_base=os.environ["OPENAI_BASE_URL"], api_key=os.environ["OPENAI_API_KEY"]
    )
    return str(CodeAgent(tools=[tool(look)], model=model, max_steps=6).run(TASK))


AGENTS = {
    "openai_chat": openai_chat,
    "openai_stream": lambda: openai_chat(stream=True),
    "openai_responses": openai_responses,
    "anthropic": anthropic,
    "anthropic_stream": lambda: anthropic(stream=True),
    "mini": mini,
    "openai_agents": openai_agents,
    "pydantic": pydantic,
    "langchain": langchain,
    "smolagents": smolagents,
}

if __name__ == "__main__":
    print(AGENTS[sys.argv[1]](*sys.argv[2:]))
